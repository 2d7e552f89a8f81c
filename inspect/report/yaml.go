package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// yamlOf writes JSON as YAML, fields in their order. The JSON is ours or an agent's answer; the texts within it may be
// anybody's.
func yamlOf(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	node, err := nodeOf(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(node); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return escapeHidden(b.String()), nil
}

// nodeOf reads one value. Unlike YAML's own parser it takes all that JSON may have, such as pairs of surrogates.
func nodeOf(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch token := token.(type) {
	case json.Delim: // [ or {: the decoder reports what does not belong here
		n.Kind = yaml.SequenceNode
		if token == '{' {
			n.Kind = yaml.MappingNode
		}
		for d.More() { // keys and values by turns, or items
			child, err := nodeOf(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err = d.Token()
		return n, err
	case string:
		n.Value = token
		if !plain.MatchString(token) || words.MatchString(token) {
			n.Style = yaml.DoubleQuotedStyle
		}
	case nil:
		n.Value = "null"
	default: // a json.Number or a bool
		n.Value = fmt.Sprint(token)
	}
	return n, nil
}

// A string is plain where no reader, of YAML 1.1 or 1.2, can take it for something else.
var (
	plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@+=,()→-]*( [A-Za-z0-9_./@+=,()→-]+)*$`)
	words = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|y|n|nan|inf)$`)
)

// escapeHidden escapes what the encoder passes through and a terminal acts on. All of that is in double quotes.
func escapeHidden(text string) []byte {
	var out bytes.Buffer
	var marks human.Marks
	for _, r := range text {
		switch {
		case r == '\n' || !human.Hidden(r) && !marks.Over(r):
			out.WriteRune(r)
		case r > 0xffff: // YAML has no pairs
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}
