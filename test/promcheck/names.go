package promcheck

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is what an expression selects: a metric with matchers.
type selector struct {
	metric   string
	matchers []*labels.Matcher
}

// selectors returns what an expression selects.
func selectors(expr string) ([]selector, error) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	var out []selector
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			out = append(out, selector{v.Name, v.LabelMatchers})
		}
		return nil
	})
	return out, nil
}

// grouped returns the labels that an expression groups or joins by.
func grouped(expr string) ([]string, error) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	var out []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			out = append(out, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				out = append(out, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out), nil
}

// variables are Grafana's, with values that PromQL accepts.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$__interval", "1m", "$cluster", ".*", "$node", ".*")
