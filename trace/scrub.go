package trace

import (
	"reflect"
)

// Scrubber returns a function that redacts the secrets of a pod in a text (of no pod in particular, if pod is zero);
// nil if there are none. It is called for each event and must be fast.
type Scrubber func(pod Pod) func(text string) string

// Scrub makes the bus redact the texts of all events that are published from now on: the fields with the tag
// scrub:"text", which may contain text of others. Names, IDs and values of closed sets are not changed. Events are
// redacted before they enter the ring.
func (b *Bus) Scrub(s Scrubber) {
	if b != nil {
		b.scrub.Store(&s)
	}
}

// Scrubbed returns lines about a pod as they would be published. lines is not changed.
func (b *Bus) Scrubbed(pod Pod, lines []string) []string {
	if b == nil || b.scrub.Load() == nil {
		return lines
	}
	blank := (*b.scrub.Load())(pod)
	if blank == nil {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = blank(line)
	}
	return out
}

// scrubbed returns e with redacted texts. What e points to is not changed.
func scrubbed[E any, P pointerTo[E]](s Scrubber, pod Pod, e E) E {
	asked := false
	var blank func(string) string
	scrub(reflect.ValueOf(&e).Elem(), textsOf[P(nil).Kind()], func(text string) string {
		if !asked { // most events have no text
			asked, blank = true, s(pod)
		}
		if blank == nil {
			return text
		}
		return blank(text)
	})
	return e
}

// texts are a struct's fields with texts; below are those of a field that contains structs.
type texts struct {
	index int
	below []texts
}

// textsOf has the texts of each kind of event.
var textsOf = func() (all [kindCount][]texts) {
	for k := range all {
		all[k] = findTexts(reflect.TypeOf(kinds[k].fresh()).Elem())
	}
	return all
}()

func findTexts(t reflect.Type) (out []texts) {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer && inner.Elem().PkgPath() == t.PkgPath() {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("scrub") == "text" && inner == reflect.TypeFor[KV]():
			out = append(out, texts{index: i, below: []texts{{index: 1}}}) // the values
		case f.Tag.Get("scrub") == "names and text":
			out = append(out, texts{index: i, below: []texts{{index: 0}, {index: 1}}})
		case f.Tag.Get("scrub") == "text":
			out = append(out, texts{index: i})
		case inner.Kind() == reflect.Struct:
			if below := findTexts(inner); len(below) > 0 {
				out = append(out, texts{index: i, below: below})
			}
		}
	}
	return out
}

// scrub redacts the fields of a struct. Slices, and what pointers point to, are copied before they are changed.
func scrub(v reflect.Value, fields []texts, blank func(string) string) {
	for _, f := range fields {
		switch field := v.Field(f.index); {
		case field.Kind() == reflect.String:
			if text := field.String(); text != "" {
				field.SetString(blank(text))
			}
		case field.Kind() == reflect.Struct:
			scrub(field, f.below, blank)
		case field.Kind() == reflect.Pointer:
			if !field.IsNil() {
				own := reflect.New(field.Type().Elem())
				own.Elem().Set(field.Elem())
				field.Set(own)
				scrub(own.Elem(), f.below, blank)
			}
		case field.Kind() == reflect.Slice && field.Len() > 0:
			own := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
			reflect.Copy(own, field)
			field.Set(own)
			for i := range own.Len() {
				if f.below == nil {
					own.Index(i).SetString(blank(own.Index(i).String()))
				} else {
					scrub(own.Index(i), f.below, blank)
				}
			}
		}
	}
}
