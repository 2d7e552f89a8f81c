package query

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// member is a field of an event type.
type member struct {
	name  string // as in conditions: the name in JSON, without _ns
	index []int
	ns    bool // an integer in nanoseconds
}

// Records makes records available to conditions: kind, pod, ns, dur, err, edge, observer, precision and time, and the
// fields of the events by their names in JSON, durations without _ns. A Records must be used by one goroutine only.
type Records struct {
	Fields  Fields
	members map[trace.Kind][]member
}

// NewRecords collects the fields of all event types.
func NewRecords() *Records {
	rs := &Records{members: map[trace.Kind][]member{}}
	rs.Fields = Fields{
		Took: "dur", Known: "kind, pod, ns, dur, err, edge, observer, precision, time, and the fields of events, see docs/events.md",
		All: []Field{
			{Name: "kind", Kind: Text, Check: OneOf(trace.Kinds()...)},
			{Name: "pod", Kind: Text},
			{Name: "ns", Kind: Text},
			{Name: "dur", Kind: Duration},
			{Name: "err", Kind: Text | Flag},
			{Name: "edge", Kind: Text, Check: OneOf("begin", "end", "point")},
			{Name: "observer", Kind: Text, Check: OneOf(trace.Observers()...)},
			{Name: "precision", Kind: Duration},
			{Name: "time", Kind: Text | Figure},
		},
	}
	for _, kind := range trace.Kinds() {
		e, _ := trace.New(kind)
		t := reflect.TypeOf(e).Elem()
		rs.members[e.Kind()] = rs.look(t, "", nil)
	}
	return rs
}

// look returns the fields of a struct, including those of nested structs.
func (rs *Records) look(t reflect.Type, prefix string, at []int) (out []member) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		ft, index := t.Field(i).Type, append(slices.Clone(at), i)
		if name == "" || name == "-" || ft == reflect.TypeFor[trace.Body]() {
			continue
		}
		m := member{name: prefix + name, index: index}
		_, text := reflect.TypeAssert[json.Marshaler](reflect.New(ft))
		if ft.Kind() == reflect.Struct && !text {
			out = append(out, rs.look(ft, m.name+".", index)...)
			continue
		}
		kind := Text
		if ft.Kind() >= reflect.Int && ft.Kind() <= reflect.Float64 {
			kind = Text | Number
		}
		if ft == reflect.TypeFor[time.Duration]() || m.name == "lag_ns" {
			m.name, m.ns = strings.TrimSuffix(m.name, "_ns"), true
			kind = Duration
		}
		out = append(out, m)
		if f := rs.Fields.get(m.name); f == nil {
			rs.Fields.All = append(rs.Fields.All, Field{Name: m.name, Kind: kind})
		} else if f.Check == nil && f.Name != "err" {
			f.Kind |= kind
		}
	}
	return out
}

// Row returns a record as a row. Words are searched in its kind, its pod and the values of its event's fields.
func (rs *Records) Row(r *trace.Record) Row {
	return Row{
		Text:  func() string { return rs.text(r) },
		Field: func(name string) Value { return rs.value(r, name) },
	}
}

func (rs *Records) text(r *trace.Record) string {
	var b strings.Builder
	b.WriteString(r.Event.Kind().String() + " " + r.Pod.String())
	for _, m := range rs.members[r.Event.Kind()] {
		if v := m.value(r.Event); v.Text != "" {
			b.WriteString(" " + v.Text)
		}
	}
	return b.String()
}

func (rs *Records) value(r *trace.Record, name string) Value {
	switch name {
	case "kind":
		return Value{Text: r.Event.Kind().String()}
	case "pod":
		if r.Pod.IsZero() {
			return Value{}
		}
		return Value{Text: r.Pod.String()}
	case "ns":
		return Value{Text: r.Pod.Namespace}
	case "dur":
		return Value{Figure: r.Dur.Seconds(), Known: r.Edge == trace.EdgeEnd}
	case "err":
		text := trace.Failure(r.Event)
		return Value{Text: text, True: text != ""}
	case "edge":
		return Value{Text: r.Edge.String()}
	case "observer":
		return Value{Text: r.Observer.String()}
	case "precision":
		d := r.Precision.Duration()
		return Value{Text: d.String(), Figure: d.Seconds(), Known: true}
	case "time":
		at := r.At().UTC()
		return Value{Text: at.Format("2006-01-02T15:04:05.000Z"), Figure: SecondsOfDay(at), Known: true}
	}
	for _, m := range rs.members[r.Event.Kind()] {
		if m.name == name {
			return m.value(r.Event)
		}
	}
	return Value{}
}

// value returns the value of the field in an event.
func (m *member) value(e trace.Event) Value {
	v := reflect.ValueOf(e).Elem().FieldByIndex(m.index)
	switch {
	case v.Kind() == reflect.String:
		return Value{Text: v.String()}
	case m.ns:
		d := time.Duration(v.Int())
		return Value{Text: d.String(), Figure: d.Seconds(), Known: true}
	case v.CanInt():
		return Value{Text: strconv.FormatInt(v.Int(), 10), Figure: float64(v.Int()), Known: true}
	case v.CanUint():
		return Value{Text: strconv.FormatUint(v.Uint(), 10), Figure: float64(v.Uint()), Known: true}
	case v.CanFloat():
		return Value{Text: strconv.FormatFloat(v.Float(), 'g', -1, 64), Figure: v.Float(), Known: true}
	case v.IsZero():
		return Value{}
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return Value{}
	}
	return Value{Text: string(raw)}
}
