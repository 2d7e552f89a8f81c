package pair

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Span is a begin and its end, of which the event is an E.
type Span[E trace.Event] struct {
	// Event is what is known best: the end's, else the begin's.
	Event E
	// Begin and End are the records; either may be nil.
	Begin, End *trace.Record
	// Start and Stop are when it ran; Stop is the time of the question while it is open.
	Start, Stop time.Time
	// Open says that it has not ended.
	Open bool
}

// Rec is the record that tells most: the end's, else the begin's.
func (s *Span[E]) Rec() *trace.Record {
	if s.End != nil {
		return s.End
	}
	return s.Begin
}

// First is the first record: the begin's, else the end's.
func (s *Span[E]) First() *trace.Record {
	if s.Begin != nil {
		return s.Begin
	}
	return s.End
}

// ID is the span's id.
func (s *Span[E]) ID() trace.SpanID { return s.Rec().Span }

// Pod is whose it is.
func (s *Span[E]) Pod() trace.Pod { return s.Rec().Pod }

// Dur is how long it ran, so far while it is open.
func (s *Span[E]) Dur() time.Duration { return s.Stop.Sub(s.Start) }

// Err is how it failed, "" when it did not.
func (s *Span[E]) Err() string {
	if s.End == nil {
		return ""
	}
	return trace.Failure(s.End.Event)
}

// Of pairs the begins and ends of one type of event, in the order of their first records. now is the time of the question.
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
