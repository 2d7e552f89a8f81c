package promcheck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const rulesFile = "../../deploy/prometheus/kubeloupe.rules.yaml"

func alerts(t *testing.T) (out []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

// TestRuleTexts checks what a person reads of an alert: texts, and a page that exists.
func TestRuleTexts(t *testing.T) {
	causes, err := filepath.Glob("../../docs/causes/KL*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		if r.Alert == "" || !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s%s: severity %q", r.Alert, r.Record, r.Labels["severity"])
		}
		for _, key := range []string{"summary", "description"} {
			if len(r.Annotations[key]) < 20 {
				t.Errorf("%s: %s %q", r.Alert, key, r.Annotations[key])
			}
		}
		page, ok := strings.CutPrefix(r.Annotations["runbook_url"], "https://github.com/kubeloupe/kubeloupe/blob/main/")
		if !ok {
			t.Errorf("%s: runbook_url %q", r.Alert, r.Annotations["runbook_url"])
		}
		pages := []string{page}
		if before, after, ok := strings.Cut(page, "{{ $labels.cause }}"); ok {
			pages = nil
			for _, c := range causes {
				pages = append(pages, before+strings.TrimSuffix(filepath.Base(c), ".md")+after)
			}
		}
		for _, page := range pages {
			file, anchor, _ := strings.Cut(page, "#")
			text, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil || anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
				t.Errorf("%s: runbook %s: %v", r.Alert, page, err)
			}
		}
		if !strings.Contains(read(t, fleetPage), "`"+r.Alert+"`") {
			t.Errorf("%s does not describe %s", fleetPage, r.Alert)
		}
	}
}

// anchors are those of a page's headings.
func anchors(page string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		out = append(out, strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

// TestRuleMetrics checks that alerts select what kubeloupe serves, and jobs that are scraped.
func TestRuleMetrics(t *testing.T) {
	for _, r := range alerts(t) {
		checkExpr(t, r.Alert, r.Expr)
	}
}

// checkExpr checks an expression against what was scraped and what the stack's Prometheus scrapes.
func checkExpr(t *testing.T, of, expr string) {
	t.Helper()
	o := watched(t)
	cfg, err := config.LoadFile(stackConfig, false, promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for _, s := range cfg.ScrapeConfigs {
		jobs = append(jobs, s.JobName)
	}
	served := slices.Concat(o.native.values(t, "__name__"), o.text.values(t, "__name__"))
	sel, err := selectors(expr)
	if err != nil || len(sel) == 0 {
		t.Fatalf("%s: %v", of, err)
	}
	// Matchers of labels with few values name values that there are.
	known := map[string][]string{"job": jobs, "outcome": {"ready", "started", "failed", "unfinished"}, "result": {"sent", "refused", "dropped"}}
	for _, s := range sel {
		if !slices.Contains(served, s.metric) {
			t.Errorf("%s: %s is not served", of, s.metric)
		}
		for _, m := range s.matchers {
			if m.Value == ".*" || known[m.Name] == nil {
				continue
			}
			for v := range strings.SplitSeq(m.Value, "|") {
				if !slices.Contains(known[m.Name], v) {
					t.Errorf("%s: %s: no %s is %q", of, s.metric, m.Name, v)
				}
			}
		}
	}
	by, err := grouped(expr)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range by {
		if len(o.text.values(t, label)) == 0 {
			t.Errorf("%s: no series has the label %s", of, label)
		}
	}
}

// loaded has series, and returns the labels and texts of the alerts that fire after a time.
func loaded(t *testing.T, step, at time.Duration, series string) map[string][]*rules.Alert {
	t.Helper()
	p := parser.NewParser(parser.Options{})
	series = strings.TrimSpace(strings.ReplaceAll(series, "\n\n", "\n")) // they end with the first empty line
	suite, err := promqltest.NewLazyLoader(fmt.Sprintf("load %s\n%s", model.Duration(step), series), promqltest.LazyLoaderOpts{
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), AppendableV2: suite.Storage(), Context: t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(), Parser: p,
	})
	groups, errs := m.LoadGroups(step, labels.EmptyLabels(), "", nil, false, rulesFile)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for ts := time.Unix(0, 0).UTC(); ts.Sub(time.Unix(0, 0)) <= at; ts = ts.Add(step) {
		suite.WithSamplesTill(ts, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				g.Eval(suite.Context(), ts)
				for _, r := range g.Rules() {
					if err := r.LastError(); err != nil {
						t.Fatalf("%s: %v", r.Name(), err)
					}
				}
			}
		})
	}
	out := map[string][]*rules.Alert{}
	for _, g := range groups {
		for _, r := range g.Rules() {
			for _, a := range r.(*rules.AlertingRule).ActiveAlerts() {
				if a.State == rules.StateFiring {
					out[r.Name()] = append(out[r.Name()], a)
				}
			}
		}
	}
	return out
}

// TestRules loads series and checks who fires: each alert must, and must not.
func TestRules(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, c := range ruleCases {
		t.Run(c.alert+"/"+c.name, func(t *testing.T) {
			step, at := c.step, c.at
			if step == 0 {
				step, at = time.Minute, time.Hour
			}
			got := ""
			for _, a := range loaded(t, step, at, c.series)[c.alert] {
				l := a.Labels.MatchLabels(false, "alertname", "severity")
				got += l.String()
				for _, text := range []string{a.Annotations.Get("summary"), a.Annotations.Get("description"), a.Annotations.Get("runbook_url")} {
					if strings.Contains(text, "{{") || strings.Contains(text, "no value") || strings.Contains(text, "error") && strings.Contains(text, "template") || strings.HasSuffix(text, " ") {
						t.Errorf("text %q", text)
					}
				}
			}
			if got != c.want {
				t.Errorf("fires for %q, want %q", got, c.want)
			}
		})
		if c.want != "" {
			fires[c.alert] = true
		} else {
			silent[c.alert] = true
		}
	}
	for _, r := range alerts(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: a case in which it fires: %t, in which it does not: %t", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}
