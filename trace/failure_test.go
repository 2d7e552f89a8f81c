package trace

import (
	"reflect"
	"testing"
)

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{&CRICall{Code: "OK"}, ""},
		{&CRICall{Code: "NotFound"}, "NotFound"},
		{&CRICall{Code: "NotFound", Err: "no such pod"}, "no such pod"},
		{&SourceError{Message: "no such field"}, "no such field"},
		{&Loop{N: 1}, ""},
		{nil, ""},
	} {
		if got := Failure(c.event); got != c.want {
			t.Errorf("%#v: %q, want %q", c.event, got, c.want)
		}
	}
}

// An event type with an error field is one that can fail.
func TestFailureKnowsEveryErr(t *testing.T) {
	for _, name := range Kinds() {
		e, _ := New(name)
		f := reflect.ValueOf(e).Elem().FieldByName("Err")
		if !f.IsValid() {
			continue
		}
		f.SetString("broken")
		if got := Failure(e); got != "broken" {
			t.Errorf("%s: %q, want its Err", name, got)
		}
	}
}
