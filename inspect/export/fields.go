package export

import (
	"encoding/json"
	"reflect"
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

// fieldsOf returns an event's fields, as JSON would have them but that what has parts is one text. Bodies of CRI calls
// are left out: they are long, and a trace goes to places where a recording would not.
func fieldsOf(e trace.Event) []field {
	if told, ok := e.(*trace.RuntimeSpan); ok {
		return toldFields(told)
	}
	v := reflect.ValueOf(e)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	v = v.Elem()
	out := make([]field, 0, v.NumField())
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || (options != "" && v.Field(i).IsZero()) {
			continue
		}
		if value, ok := valueOf(v.Field(i)); ok {
			out = append(out, field{name: name, value: value})
		}
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

func valueOf(v reflect.Value) (any, bool) {
	switch {
	case v.Type() == reflect.TypeFor[trace.Body]():
		return nil, false
	case v.Kind() == reflect.String:
		return limit(v.String()), true
	case v.Kind() == reflect.Bool:
		return v.Bool(), true
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	raw, err := json.Marshal(v.Interface())
	return limit(string(raw)), err == nil
}

// limit cuts long text, and makes it valid.
func limit(s string) string {
	if len(s) > maxField {
		s = s[:maxField-len("…")] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
