package pair

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Span is a begin and its end, whose event is an E.
type Span[E trace.Event] struct {
	// Event is the best known event: the end's, otherwise the begin's.
	Event E
	// Begin and End are the records; either may be nil.
	Begin, End *trace.Record
	// Start and Stop are when it ran; Stop is the current time while it is open.
	Start, Stop time.Time
	// Open says that it has not ended.
	Open bool
}

// Rec returns the record with the most data: the end's, otherwise the begin's.
func (s *Span[E]) Rec() *trace.Record {
	if s.End != nil {
		return s.End
	}
	return s.Begin
}

// First returns the first record: the begin's, otherwise the end's.
func (s *Span[E]) First() *trace.Record {
	if s.Begin != nil {
		return s.Begin
	}
	return s.End
}

// ID returns the span's ID.
func (s *Span[E]) ID() trace.SpanID { return s.Rec().Span }

// Pod returns its pod.
func (s *Span[E]) Pod() trace.Pod { return s.Rec().Pod }

// Dur returns its duration, so far while it is open.
func (s *Span[E]) Dur() time.Duration { return s.Stop.Sub(s.Start) }

// Err returns its error, "" if there is none.
func (s *Span[E]) Err() string {
	if s.End == nil {
		return ""
	}
	return trace.Failure(s.End.Event)
}

// Of pairs the begins and ends of one type of event, in the order of their first records. now is the current time.
func Of[E trace.Event](recs []*trace.Record, now time.Time) []Span[E] {
	pairs := (len(recs) + 1) / 2
	out, at := make([]Span[E], 0, pairs), newIndex(pairs)
	for _, r := range recs {
		e, ok := r.Event.(E)
		if !ok || r.Edge == trace.EdgePoint {
			continue
		}
		n, fresh := at.place(r)
		if fresh {
			out = append(out, Span[E]{Event: e, Start: time.Unix(0, r.Start()), Stop: now, Open: true})
		}
		switch s := &out[n]; {
		case r.Edge == trace.EdgeEnd:
			s.Event, s.End, s.Stop, s.Open = e, r, r.At(), false
		case s.Begin == nil:
			s.Begin = r
		}
	}
	return out
}

// In is Of for records that are not sorted by their kinds.
func In[E trace.Event](recs []trace.Record, now time.Time) []Span[E] {
	var of []*trace.Record
	for i := range recs {
		if _, ok := recs[i].Event.(E); ok && recs[i].Edge != trace.EdgePoint {
			of = append(of, &recs[i])
		}
	}
	if of == nil {
		return nil
	}
	return Of[E](of, now)
}
