package export

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// field is one of an event's, by the name that JSON gives it. The value is a string, int64, float64 or bool.
type field struct {
	name  string
	value any
}

// maxField is the longest text of a field, in bytes.
const maxField = 2048

// fieldsOf returns an event's fields in the order of their names. What has parts is told as JSON. Bodies of CRI calls
// are left out: they are long, and a trace goes to places where a recording would not.
func fieldsOf(e trace.Event) []field {
	switch known := e.(type) {
	case *trace.CRICall:
		short := *known
		short.Request, short.Response = trace.Body{}, trace.Body{}
		e = &short
	case *trace.RuntimeSpan:
		return toldFields(known)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil
	}
	out := make([]field, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, field{name: name, value: valueOf(all[name])})
	}
	return out
}

// toldFields are those that the runtime gave its span.
func toldFields(e *trace.RuntimeSpan) []field {
	var out []field
	for _, a := range e.Attrs {
		out = append(out, field{name: limit(a.K), value: limit(a.V)})
	}
	if e.Err != "" {
		out = append(out, field{name: "err", value: limit(e.Err)})
	}
	return out
}

func valueOf(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return ""
	}
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return limit(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // it is a number: JSON said so
		return f
	}
	return limit(string(raw))
}

// limit cuts long text, and makes it valid.
func limit(s string) string {
	if len(s) > maxField {
		s = s[:maxField-len("…")] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
