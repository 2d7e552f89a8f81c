package model

import (
	"container/list"
	"reflect"
	"time"
	"unsafe"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// scale weighs values: their approximate size in memory with everything that they reference, except bodies of calls.
// Shared values count once.
type scale struct {
	met    map[unsafe.Pointer]bool
	fields map[reflect.Type][]int // of structs, those with references
}

func newScale() *scale {
	return &scale{met: map[unsafe.Pointer]bool{}, fields: map[reflect.Type][]int{}}
}

// first reports whether p was not visited before.
func (s *scale) first(p unsafe.Pointer) bool {
	met := s.met[p]
	s.met[p] = true
	return !met
}

// points reports whether values of a type may reference something that counts.
func (s *scale) points(t reflect.Type) bool {
	if t == reflect.TypeFor[*list.Element]() || t == reflect.TypeFor[*list.List]() || t == reflect.TypeFor[*store.PodRun]() || t == reflect.TypeFor[*store.Item]() { // references to values that others own
		return false
	}
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		return t != reflect.TypeFor[time.Time]() && t != reflect.TypeFor[trace.Body]() && len(s.pointing(t)) > 0
	default:
		return false
	}
}

func (s *scale) pointing(t reflect.Type) []int {
	out, known := s.fields[t]
	if !known {
		for f := range t.Fields() {
			if s.points(f.Type) {
				out = append(out, f.Index[0])
			}
		}
		s.fields[t] = out
	}
	return out
}

// mapSlot is the approximate size of a map entry without key and value.
const mapSlot = 16

// whole returns the size of a value; below that of its references only.
func (s *scale) whole(v reflect.Value) int { return int(v.Type().Size()) + s.below(v) }

func (s *scale) below(v reflect.Value) (n int) {
	if !s.points(v.Type()) {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() && s.first(v.UnsafePointer()) {
			return s.whole(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			return s.whole(v.Elem())
		}
	case reflect.Struct:
		for _, i := range s.pointing(v.Type()) {
			n += s.below(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() || !s.first(v.UnsafePointer()) {
			return 0
		}
		n = v.Cap() * int(v.Type().Elem().Size())
		for i := 0; i < v.Len() && s.points(v.Type().Elem()); i++ {
			n += s.below(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			n += mapSlot + s.whole(it.Key()) + s.whole(it.Value())
		}
	default:
	}
	return n
}
