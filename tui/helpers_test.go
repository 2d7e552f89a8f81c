package tui

import (
	"reflect"
	"regexp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// sgr is the only kind of escape sequence that frames may hold.
var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// fill sets every string in an event.
func fill(e trace.Event, s string) { fillValue(reflect.ValueOf(e).Elem(), s) }

func fillValue(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(s)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			fillValue(f, s)
		}
	case reflect.Pointer:
		if v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(v.Elem(), s)
		}
	case reflect.Slice:
		if v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				fillValue(v.Index(i), s)
			}
		}
	default:
	}
}
