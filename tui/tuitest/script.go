// Package tuitest creates streams of records for the UI: a scripted session of a node, with its own times, for golden views,
// benchmarks and demonstrations.
//
// It owns nothing but the script, reads no clock, runs no goroutine and
// publishes nothing.
package tuitest

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Epoch is when scripts begin.
var Epoch = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// Script collects records in any order and hands them out in order of time.
type Script struct {
	recs []trace.Record
	last uint64
}

// Span is something begun at a time of the script.
type Span struct {
	trace  trace.TraceID
	id     trace.SpanID
	parent trace.SpanID
	pod    trace.Pod
	at     time.Duration
}

// Of returns the span stamped with a pod.
func (s Span) Of(p trace.Pod) Span {
	s.pod = p
	return s
}

// Point adds an instant.
func (s *Script) Point(at time.Duration, parent Span, e trace.Event) {
	s.add(trace.EdgePoint, at, 0, s.child(at, parent), e)
}

// Begin adds a beginning.
func (s *Script) Begin(at time.Duration, parent Span, e trace.Event) Span {
	sp := s.child(at, parent)
	s.add(trace.EdgeBegin, at, 0, sp, e)
	return sp
}

// End adds the end of a beginning.
func (s *Script) End(at time.Duration, sp Span, e trace.Event) {
	s.add(trace.EdgeEnd, at, at-sp.at, sp, e)
}

// Both adds a begin and its end, with the same event.
func (s *Script) Both(from, to time.Duration, parent Span, e trace.Event) Span {
	sp := s.Begin(from, parent, e)
	s.End(to, sp, e)
	return sp
}

// Records returns what was added, in order of time and numbered, loop iterations
// numbered too.
func (s *Script) Records() []trace.Record {
	out := slices.Clone(s.recs)
	slices.SortStableFunc(out, func(a, b trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	loops, of := uint64(0), map[trace.SpanID]uint64{}
	for i := range out {
		out[i].Seq = uint64(i) + 1
		if l, ok := out[i].Event.(*trace.Loop); ok {
			if of[out[i].Span] == 0 {
				loops++
				of[out[i].Span] = loops
			}
			l.N = of[out[i].Span]
		}
	}
	return out
}

func (s *Script) child(at time.Duration, parent Span) Span {
	s.last++
	sp := Span{trace: parent.trace, id: trace.SpanID(s.last), parent: parent.id, pod: parent.pod, at: at}
	if sp.trace.IsZero() {
		sp.trace = trace.TraceID{Hi: 1, Lo: s.last}
	}
	return sp
}

func (s *Script) add(edge trace.Edge, at, dur time.Duration, sp Span, e trace.Event) {
	s.recs = append(s.recs, trace.Record{
		Time: Epoch.Add(at).UnixNano(), Edge: edge, Dur: dur,
		Observer: e.Kind().Observer(), Trace: sp.trace, Span: sp.id, Parent: sp.parent, Pod: sp.pod, Event: e,
	})
}
