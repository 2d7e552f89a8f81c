package evidence

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// keptAttempts is how many of the newest consecutive successful attempts are kept of a probe.
	keptAttempts = 3
	// quick is the maximum duration of an attempt that is not noteworthy.
	quick = time.Second
	// maxProbes limits the probes of a run, maxOfAttempt the spans of an attempt.
	maxProbes    = 128
	maxOfAttempt = 64
)

// Routine finds records that a healthy run repeats and that explain nothing: successful attempts of its probes between
// other successful ones, with the wait for each and everything done in it. The zero value is ready to use.
type Routine struct {
	now  map[trace.Target]*Attempt
	well map[trace.Target][]*Attempt // the last consecutive successful ones, oldest first
	of   map[trace.SpanID]*Attempt   // by their spans
}

// Attempt is an attempt of a probe, with the wait for it and everything done in it.
type Attempt struct {
	Spans []trace.SpanID
	From  int64 // time of the first span
}

// Has reports whether a span belongs to the attempt.
func (a *Attempt) Has(span trace.SpanID) bool { return slices.Contains(a.Spans, span) }

// See adds a record of the run, and returns an attempt that no longer explains anything; nil if there is none.
func (n *Routine) See(t *Times, r *trace.Record) *Attempt {
	if t.Ready == 0 || r.Span == 0 {
		return nil
	}
	switch e := r.Event.(type) {
	case *trace.Wait:
		if e.For == trace.WaitProbe {
			if r.Edge == trace.EdgeBegin {
				n.begin(e.Target, r)
			}
			return nil
		}
	case *trace.ProbeAttempt:
		probe := trace.Target{Kind: trace.TargetProbe, Name: string(e.Probe), Container: e.Container}
		if r.Edge != trace.EdgeEnd {
			n.belongs(probe, r)
			return nil
		}
		return n.ended(probe, r, e)
	}
	if a := n.of[r.Parent]; a != nil && n.of[r.Span] == nil {
		n.add(a, r.Span)
	}
	return nil
}

// begin begins an attempt with the wait for it.
func (n *Routine) begin(probe trace.Target, r *trace.Record) {
	if n.now == nil {
		n.now, n.well, n.of = map[trace.Target]*Attempt{}, map[trace.Target][]*Attempt{}, map[trace.SpanID]*Attempt{}
	}
	if n.now[probe] != nil {
		n.keep(probe)
	}
	if len(n.now) >= maxProbes {
		return
	}
	a := &Attempt{From: r.Time}
	n.now[probe] = a
	n.add(a, r.Span)
}

// belongs adds a span to the attempt of its wait, or to a new one.
func (n *Routine) belongs(probe trace.Target, r *trace.Record) {
	if a := n.now[probe]; a != nil {
		n.add(a, r.Span)
		return
	}
	n.begin(probe, r)
}

func (n *Routine) add(a *Attempt, span trace.SpanID) {
	if len(a.Spans) < maxOfAttempt {
		a.Spans = append(a.Spans, span)
		n.of[span] = a
	}
}

// ended handles the result of an attempt.
func (n *Routine) ended(probe trace.Target, r *trace.Record, e *trace.ProbeAttempt) *Attempt {
	a := n.now[probe]
	if a == nil || n.of[r.Span] != a {
		return nil
	}
	if e.Result != trace.ProbeSuccess || e.State != trace.ProbeSays || r.Dur >= quick {
		n.keep(probe)
		return nil
	}
	delete(n.now, probe)
	n.well[probe] = append(n.well[probe], a)
	if len(n.well[probe]) <= keptAttempts {
		return nil
	}
	old := n.well[probe][0]
	n.well[probe] = append(n.well[probe][:0], n.well[probe][1:]...)
	n.forget(old)
	return old
}

// keep keeps an unusual attempt, and those before it.
func (n *Routine) keep(probe trace.Target) {
	n.forget(n.now[probe])
	for _, a := range n.well[probe] {
		n.forget(a)
	}
	delete(n.now, probe)
	delete(n.well, probe)
}

func (n *Routine) forget(a *Attempt) {
	for _, id := range a.Spans {
		delete(n.of, id)
	}
}
