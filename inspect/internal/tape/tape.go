// Package tape writes trace records manually, at stated times, for tests of what
// folds them. It owns a growing slice, runs no goroutine and publishes nothing.
package tape

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Epoch is time zero of every tape.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Tape is a list of records in the making.
type Tape struct {
	Recs  []trace.Record
	begun map[trace.SpanID]trace.Record
	next  trace.SpanID
}

// New returns an empty tape.
func New() *Tape { return &Tape{begun: map[trace.SpanID]trace.Record{}} }

// Point adds an instantaneous event and returns its span.
func (t *Tape) Point(at time.Duration, pod trace.Pod, parent trace.SpanID, e trace.Event) trace.SpanID {
	return t.add(at, pod, parent, trace.EdgePoint, e)
}

// Begin adds a begin and returns its span.
func (t *Tape) Begin(at time.Duration, pod trace.Pod, parent trace.SpanID, e trace.Event) trace.SpanID {
	id := t.add(at, pod, parent, trace.EdgeBegin, e)
	t.begun[id] = t.Recs[len(t.Recs)-1]
	return id
}

// End adds the end of span; a nil event repeats the event of the begin.
func (t *Tape) End(at time.Duration, span trace.SpanID, e trace.Event) {
	r := t.begun[span]
	r.Edge = trace.EdgeEnd
	r.Seq = uint64(len(t.Recs) + 1)
	r.Dur = at - time.Duration(r.Time-Epoch.UnixNano())
	r.Time = Epoch.Add(at).UnixNano()
	if e != nil {
		r.Event = e
	}
	t.Recs = append(t.Recs, r)
}

// Records returns the records in the order of time, numbered from 1.
func (t *Tape) Records() []trace.Record {
	out := slices.Clone(t.Recs)
	sorting.Stable(out, func(a, b *trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	for i := range out {
		out[i].Seq = uint64(i + 1)
	}
	return out
}

func (t *Tape) add(at time.Duration, pod trace.Pod, parent trace.SpanID, edge trace.Edge, e trace.Event) trace.SpanID {
	t.next++
	t.Recs = append(t.Recs, trace.Record{
		Seq: uint64(len(t.Recs) + 1), Time: Epoch.Add(at).UnixNano(), Edge: edge,
		Trace: trace.TraceID{Lo: 1}, Span: t.next, Parent: parent, Pod: pod, Event: e, Observer: e.Kind().Observer(),
	})
	return t.next
}
