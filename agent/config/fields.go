package config

import (
	"cmp"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strings"
)

// jsonFields yields the JSON names of a struct's fields and their indexes; embedded structs without a name are inlined.
func jsonFields(t reflect.Type) iter.Seq2[string, []int] {
	return func(yield func(string, []int) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported():
			case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
				for inner, index := range jsonFields(f.Type) {
					if !yield(inner, append([]int{i}, index...)) {
						return
					}
				}
			default:
				if !yield(cmp.Or(name, f.Name), []int{i}) {
					return
				}
			}
		}
	}
}

// jsonField is the index of the field with that JSON name.
func jsonField(t reflect.Type, name string) (index []int, ok bool) {
	for n, i := range jsonFields(t) {
		if n == name {
			return i, true
		}
	}
	return nil, false
}

// isLeaf reports whether values of t are decoded as a whole: all except plain structs.
func isLeaf(t reflect.Type) bool {
	return t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// leafPaths lists, sorted, the paths of all fields below t that can be set separately.
func leafPaths(t reflect.Type, prefix string) []string {
	var paths []string
	for name, index := range jsonFields(t) {
		ft := t.FieldByIndex(index).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if isLeaf(ft) {
			paths = append(paths, prefix+name)
		} else {
			paths = append(paths, leafPaths(ft, prefix+name+".")...)
		}
	}
	slices.Sort(paths)
	return paths
}

// fieldAt finds the field at a dotted path below v. It allocates missing structs if allocate is set; otherwise the
// result is invalid if one is missing, as for an unknown path.
func fieldAt(v reflect.Value, path string, allocate bool) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !allocate {
					return reflect.Value{}
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		index, ok := jsonField(v.Type(), name)
		if !ok {
			return reflect.Value{}
		}
		v = v.FieldByIndex(index)
	}
	return v
}

// isSet reports whether the field has a value. As in upstream, an explicit zero ("0s", "", 0) of a field without a
// pointer counts as not set.
func isSet(v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	if v.CanAddr() {
		if z, ok := reflect.TypeAssert[interface{ IsZero() bool }](v.Addr()); ok {
			return !z.IsZero()
		}
	}
	return !v.IsZero()
}
