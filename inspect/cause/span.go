package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Span is a begin/end pair of records whose event is an E.
type Span[E trace.Event] struct {
	// Event is what is known best: the end's, else the begin's.
	Event E
	// Begin and End are the records; either may be nil.
	Begin, End *trace.Record
	// Start and Stop are when it ran; Stop is the case's Now while it is open.
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

// spansOf pairs the begins and ends of one type of event, in order of their first record.
func spansOf[E trace.Event](recs []trace.Record, now time.Time) []Span[E] {
	var out []Span[E]
	at := map[trace.SpanID]int{}
	for i := range recs {
		r := &recs[i]
		e, ok := r.Event.(E)
		if !ok || r.Edge == trace.EdgePoint {
			continue
		}
		n, seen := at[r.Span]
		if !seen {
			n = len(out)
			at[r.Span] = n
			out = append(out, Span[E]{Event: e, Start: time.Unix(0, r.Start()), Stop: now, Open: true})
		}
		s := &out[n]
		if r.Edge == trace.EdgeBegin {
			s.Begin = r
			continue
		}
		s.Event, s.End, s.Stop, s.Open = e, r, r.At(), false
	}
	return out
}

// ownSpans are the pod's own spans of one type of event, nodeSpans those of the node and of other pods.
func ownSpans[E trace.Event](c *Case) []Span[E]  { return spansOf[E](c.Records, c.Now) }
func nodeSpans[E trace.Event](c *Case) []Span[E] { return spansOf[E](c.Node, c.Now) }

// Point is a record without duration whose event is an E.
type Point[E trace.Event] struct {
	Event E
	Rec   *trace.Record
}

// pointsOf returns the points of one type of event.
func pointsOf[E trace.Event](recs []trace.Record) []Point[E] {
	var out []Point[E]
	for i := range recs {
		if e, ok := recs[i].Event.(E); ok && recs[i].Edge == trace.EdgePoint {
			out = append(out, Point[E]{Event: e, Rec: &recs[i]})
		}
	}
	return out
}

// ownPoints are the pod's own points of one type of event, nodePoints those of the node and of other pods.
func ownPoints[E trace.Event](c *Case) []Point[E]  { return pointsOf[E](c.Records) }
func nodePoints[E trace.Event](c *Case) []Point[E] { return pointsOf[E](c.Node) }
