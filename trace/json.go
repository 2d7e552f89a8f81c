package trace

import (
	"encoding/json"
	"fmt"
	"time"
)

// wire is the JSON form of a Record: one object per line, on stdout, in files and on sockets. AppendJSON writes it.
type wire struct {
	Version   int             `json:"v,omitempty"` // of the schema; omitted in the first
	Seq       uint64          `json:"seq"`
	Time      string          `json:"time"`
	Kind      string          `json:"kind"`
	Edge      Edge            `json:"edge,omitempty"`
	Observer  *Observer       `json:"observer,omitempty"`
	Also      ObserverSet     `json:"also,omitempty"`
	Precision time.Duration   `json:"precision_ns,omitempty"`
	Dur       time.Duration   `json:"dur_ns,omitempty"`
	Trace     TraceID         `json:"trace,omitzero"`
	Span      SpanID          `json:"span,omitzero"`
	Parent    SpanID          `json:"parent,omitzero"`
	Pod       Pod             `json:"pod,omitzero"`
	Event     json.RawMessage `json:"event"`
}

const timeLayout = "2006-01-02T15:04:05.000000000Z"

// MarshalJSON implements json.Marshaler.
func (r Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// Limit cuts a record that was not published here to the maximum size that published ones have: anybody may have written it. An event that
// is too large is copied first.
func (r *Record) Limit() {
	r.Pod.limit(cut)
	k := kinds[r.Event.Kind()]
	if k.limit(r.Event, look) >= tooMuch {
		r.Event = k.clone(r.Event)
		k.limit(r.Event, cut)
	}
}

// latest is the end of the year 2199. The difference between 1970 and any time until then fits in a time.Duration.
const latest = 7258118400e9 - 1

// inTime returns an error if the record begins before 1970 or has a negative duration: no agent writes that, and folds
// subtract. Times in events are not checked: their readers must not trust them.
func (r *Record) inTime() error {
	if r.Dur < 0 || int64(r.Dur) > r.Time {
		return fmt.Errorf("record %d, field dur_ns: %d: want 0 or more, and a begin in 1970 or later", r.Seq, int64(r.Dur))
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. An unknown kind is an error that names it.
func (r *Record) UnmarshalJSON(p []byte) error {
	var w wire
	if err := json.Unmarshal(p, &w); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	at, err := time.Parse(timeLayout, w.Time)
	if err != nil {
		return fmt.Errorf("record %d, field time: %w", w.Seq, err)
	}
	if at.Before(time.Unix(0, 0)) || at.After(time.Unix(0, latest)) {
		return fmt.Errorf("record %d, field time: %s: want a time from 1970 to 2199", w.Seq, w.Time)
	}
	if w.Version == 0 {
		w.Version = 1
	}
	if w.Version < 1 || w.Version > Version {
		return fmt.Errorf("record %d, field v: schema %d: this version of kubeloupe reads 1 to %d: take a newer one", w.Seq, w.Version, Version)
	}
	event, ok := newOf(w.Version, w.Kind)
	if !ok {
		return fmt.Errorf("record %d, field kind: %w %q", w.Seq, ErrUnknownKind, w.Kind)
	}
	if len(w.Event) > 0 {
		if err := json.Unmarshal(w.Event, event); err != nil {
			return fmt.Errorf("record %d, field event: %w", w.Seq, err)
		}
	}
	observer := event.Kind().Observer()
	if w.Observer != nil {
		observer = *w.Observer
	}
	if w.Precision < 0 {
		return fmt.Errorf("record %d, field precision_ns: %d: want 0 or more", w.Seq, int64(w.Precision))
	}
	rec := Record{
		Seq: w.Seq, Time: at.UnixNano(), Edge: w.Edge, Dur: w.Dur, Trace: w.Trace,
		Observer: observer, Precision: PrecisionOf(w.Precision), Also: w.Also,
		Span: w.Span, Parent: w.Parent, Pod: w.Pod, Event: event,
	}
	if err := rec.inTime(); err != nil {
		return err
	}
	rec.Event = rec.upgraded(w.Version)
	rec.Limit()
	*r = rec
	return nil
}

// String returns begin, end or point.
func (e Edge) String() string {
	switch e {
	case EdgeBegin:
		return "begin"
	case EdgeEnd:
		return "end"
	case EdgePoint:
		return "point"
	}
	return fmt.Sprintf("edge-%d", uint8(e))
}

// MarshalText implements encoding.TextMarshaler.
func (e Edge) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Edge) UnmarshalText(b []byte) error {
	switch string(b) {
	case "begin":
		*e = EdgeBegin
	case "end":
		*e = EdgeEnd
	case "point":
		*e = EdgePoint
	default:
		return fmt.Errorf("edge %q: want begin, end or point", b)
	}
	return nil
}
