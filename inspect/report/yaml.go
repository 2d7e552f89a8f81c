package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// yamlOf writes JSON as YAML, fields in their order.
func yamlOf(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := read(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	switch v := v.(type) {
	case members:
		v.write(&b, "")
	case []any:
		writeList(&b, v, "")
	default:
		b.WriteString(scalar(v) + "\n")
	}
	return b.Bytes(), nil
}

// members are the fields of a JSON object in their order.
type members []member

type member struct {
	key   string
	value any
}

// read reads one value: members, []any, string, json.Number, bool or nil.
func read(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(d)
	case json.Delim('['):
		out := []any{}
		for d.More() {
			v, err := read(d)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err := d.Token()
		return out, err
	}
	return token, nil
}

func readObject(d *json.Decoder) (any, error) {
	out := members{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := read(d)
		if err != nil {
			return nil, err
		}
		out = append(out, member{fmt.Sprint(key), v})
	}
	_, err := d.Token()
	return out, err
}

func (m members) write(b *bytes.Buffer, indent string) {
	if len(m) == 0 {
		b.WriteString(indent + "{}\n")
		return
	}
	for _, f := range m {
		b.WriteString(indent + quote(f.key) + ":")
		writeValue(b, f.value, indent)
	}
}

// writeValue writes what stands behind a key.
func writeValue(b *bytes.Buffer, v any, indent string) {
	switch v := v.(type) {
	case members:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteByte('\n')
		v.write(b, indent+"  ")
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteByte('\n')
		writeList(b, v, indent)
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

func writeList(b *bytes.Buffer, list []any, indent string) {
	if len(list) == 0 {
		b.WriteString(indent + "[]\n")
	}
	for _, v := range list {
		var one bytes.Buffer
		switch v := v.(type) {
		case members:
			v.write(&one, indent+"  ")
		case []any:
			writeList(&one, v, indent+"  ")
		default:
			one.WriteString(indent + "  " + scalar(v) + "\n")
		}
		b.WriteString(indent + "- " + strings.TrimPrefix(one.String(), indent+"  "))
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quote(v)
	}
	return fmt.Sprint(v) // a json.Number or a bool
}

var (
	plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@+=,()→-]*( [A-Za-z0-9_./@+=,()→-]+)*$`)
	words = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|y|n|nan|inf)$`)
)

// quote writes a string plain where nothing can take it for something else, else as JSON does, which is YAML too.
func quote(s string) string {
	if plain.MatchString(s) && !words.MatchString(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	var out strings.Builder
	var marks human.Marks
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch { // JSON takes these as they are; YAML does not, or a terminal acts on them
		case !human.Hidden(r) && !marks.Over(r):
			out.WriteRune(r)
		case r > 0xffff: // YAML has no pairs
			fmt.Fprintf(&out, "\\U%08x", r)
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
