// Package tracetest lets tests assert on what was published.
//
// It owns a bus and a cursor from its first record, never drops a record of a
// test of ordinary size, runs no goroutine and publishes nothing.
package tracetest

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Recorder collects all records of one bus.
type Recorder struct {
	t    testing.TB
	bus  *trace.Bus
	cur  *trace.Cursor
	recs []trace.Record
}

// New returns a recorder with its own bus.
func New(t testing.TB) *Recorder {
	t.Helper()
	bus := trace.NewBus(1 << 15)
	r := &Recorder{t: t, bus: bus, cur: bus.Subscribe(trace.FromOldest)}
	t.Cleanup(r.cur.Close)
	return r
}

// Bus returns the bus to publish on.
func (r *Recorder) Bus() *trace.Bus { return r.bus }

// Records returns everything published so far. The test fails if any was lost.
func (r *Recorder) Records() []trace.Record {
	r.t.Helper()
	for {
		recs, lost := r.cur.Poll(make([]trace.Record, 0, 1024))
		if lost > 0 {
			r.t.Fatalf("tracetest: %d records lost", lost)
		}
		if len(recs) == 0 {
			return r.recs
		}
		r.recs = append(r.recs, recs...)
	}
}

// OfKind returns the records of one kind, such as "decision".
func (r *Recorder) OfKind(kind string) []trace.Record {
	r.t.Helper()
	var out []trace.Record
	for _, rec := range r.Records() {
		if rec.Event.Kind().String() == kind {
			out = append(out, rec)
		}
	}
	return out
}

// Events returns the events of one type, in order, whatever their edge.
func Events[E any, P interface {
	*E
	trace.Event
}](r *Recorder) []E {
	r.t.Helper()
	var out []E
	for _, rec := range r.Records() {
		if p, ok := rec.Event.(P); ok {
			out = append(out, *p)
		}
	}
	return out
}
