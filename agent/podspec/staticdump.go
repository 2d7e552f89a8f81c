package podspec

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// dump writes a pod as upstream hashes static pods: each field with its type, where types of v1 have the name of
// upstream's internal package "core". Both have the same fields in the same order. The format is that of
// k8s.io/utils/dump.ForHash; checked against upstream's for v1.37.1.
func dump(w io.Writer, p *v1.Pod) { // p.TypeMeta must be empty
	dumpValue(w, reflect.ValueOf(p), true)
}

func dumpValue(w io.Writer, v reflect.Value, typed bool) {
	put := func(s string) { _, _ = io.WriteString(w, s) } // a hash.Hash never returns an error
	if typed {
		put("(" + dumpType(v.Type()) + ")")
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			put("<nil>")
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		dumpValue(w, v.Elem(), false)
	case reflect.Bool:
		put(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		put(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		put(strconv.FormatUint(v.Uint(), 10))
	case reflect.String:
		put(v.String())
	case reflect.Slice:
		put("[")
		for i := range v.Len() {
			if i > 0 {
				put(" ")
			}
			dumpValue(w, v.Index(i), false)
		}
		put("]")
	case reflect.Map: // keys are strings
		values := map[string]reflect.Value{}
		for k, e := range v.Seq2() {
			values[k.String()] = e
		}
		put("map[")
		for i, k := range slices.Sorted(maps.Keys(values)) {
			if i > 0 {
				put(" ")
			}
			put(k + ":")
			dumpValue(w, values[k], false)
		}
		put("]")
	case reflect.Struct:
		put("{")
		for i := range v.NumField() {
			if i > 0 {
				put(" ")
			}
			put(v.Type().Field(i).Name + ":")
			dumpValue(w, v.Field(i), true)
		}
		put("}")
	default:
		put(fmt.Sprint(v))
	}
}

func dumpType(t reflect.Type) string {
	switch {
	case t.Name() != "" && t.PkgPath() == "k8s.io/api/core/v1":
		return "core." + t.Name()
	case t.Name() != "":
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + dumpType(t.Elem())
	case reflect.Slice:
		return "[]" + dumpType(t.Elem())
	case reflect.Map:
		return "map[" + dumpType(t.Key()) + "]" + dumpType(t.Elem())
	default:
		return t.String()
	}
}
