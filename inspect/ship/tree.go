package ship

import (
	"hash/fnv"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The outcomes of a start.
const (
	outcomeReady      = "ready"
	outcomeStarted    = "started" // it is not ready
	outcomeFailed     = "failed"
	outcomeUnfinished = "unfinished"
)

// Outcomes returns the values of Start.Outcome.
func Outcomes() []string {
	return []string{outcomeReady, outcomeStarted, outcomeFailed, outcomeUnfinished}
}

// outline returns what is known of a start without its causes, from its case; nth counts how often it was sent before. It takes a small part of
// the time that start takes, so it is made of all starts.
func outline(c *cause.Case, nth int) (s Start) {
	w := c.Waterfall
	s = Start{Outcome: outcomeUnfinished, Took: w.Length(), Again: nth > 0, Trace: firstTrace(c)}
	switch {
	case w.Ready >= 0:
		s.Outcome = outcomeReady
	case w.Started >= 0:
		s.Outcome = outcomeStarted
	case over(c):
		s.Outcome = outcomeFailed
	}
	if nth > 0 {
		s.Trace = derived(s.Trace.String(), uint64(nth))
	}
	length := lengthOf(w)
	for _, r := range w.Rows() {
		if r.Kind == waterfall.RowAction && r.Depth == 0 && r.Verb != "" && !r.Open && r.Start <= length {
			s.Phases = append(s.Phases, Part{string(r.Verb), r.Dur()})
		}
	}
	for _, x := range w.Waits {
		s.Waits = append(s.Waits, Part{string(x.For), x.Dur})
	}
	return s
}

// lengthOf returns when a start is finished, since its origin: what is drawn further is no part of it.
func lengthOf(w *waterfall.Waterfall) time.Duration {
	if w.Ready >= 0 {
		return max(w.Started, w.Ready, w.Told)
	}
	return w.End
}

// firstTrace returns the trace of a start, when it is sent for the first time.
func firstTrace(c *cause.Case) trace.TraceID {
	if id := traceOf(c.Records); !id.IsZero() {
		return id
	}
	return derived(c.Pod.UID, uint64(c.Waterfall.Origin.UnixNano()))
}

// start makes the tree of a start that is outlined, and adds its causes to the outline.
func start(c *cause.Case, s *Start) *export.Tree {
	w, rep := c.Waterfall, why.Explain(c)
	s.Causes = rep.Findings
	t := &export.Tree{
		Pod: c.Pod, Trace: s.Trace, Root: trace.SpanID(derived(c.Pod.UID, uint64(w.Origin.UnixNano())).Lo | 1), Name: "pod start",
		Start: w.Origin, End: w.Origin.Add(lengthOf(w)), Causes: rep.Findings, Critical: map[trace.SpanID]bool{}, Recs: c.Records,
		Open: s.Outcome == outcomeUnfinished,
	}
	if s.Again {
		t.Link = firstTrace(c)
	}
	for _, r := range w.Rows() {
		if r.Critical && r.Span != 0 {
			t.Critical[r.Span] = true
		}
	}
	if s.Outcome == outcomeFailed || s.Outcome == outcomeUnfinished {
		t.Err = rep.Cause
	}
	t.Attrs = append(t.Attrs, export.Attr{Key: "kubeloupe.kind", Value: "pod.start"}, export.Attr{Key: "kubeloupe.start.outcome", Value: s.Outcome},
		export.Attr{Key: "kubeloupe.why", Value: rep.Cause})
	for _, a := range []struct {
		key string
		d   time.Duration
	}{
		{"kubeloupe.start.started_ns", w.Started},
		{"kubeloupe.start.ready_ns", w.Ready},
		{"kubeloupe.start.in_api_ns", w.Told},
		{"kubeloupe.start.floor_ns", w.Floor},
		{"kubeloupe.start.unexplained_ns", w.Unexplained},
	} {
		if a.d >= 0 {
			t.Attrs = append(t.Attrs, export.Attr{Key: a.key, Value: int64(a.d)})
		}
	}
	if w.Source != "" {
		t.Attrs = append(t.Attrs, export.Attr{Key: "kubeloupe.start.source", Value: string(w.Source)})
	}
	if w.Incomplete || c.Incomplete {
		t.Attrs = append(t.Attrs, export.Attr{Key: "kubeloupe.incomplete", Value: true})
	}
	return t
}

// over reports whether a pod that has not started will not any more.
func over(c *cause.Case) bool {
	_, rejected := c.Rejected()
	return rejected || c.Stage() == cause.Over || c.Stage() == cause.Ending
}

// traceOf returns the trace that most of a pod's work is in; zero if there is none.
func traceOf(recs []trace.Record) (most trace.TraceID) {
	n := map[trace.TraceID]int{}
	for i := range recs {
		r := &recs[i]
		switch r.Event.(type) {
		case *trace.Sync, *trace.Action, *trace.CRICall:
		default:
			continue
		}
		if r.Trace.IsZero() {
			continue
		}
		if n[r.Trace]++; n[r.Trace] > n[most] {
			most = r.Trace
		}
	}
	return most
}

// derived makes an id from what is unique.
func derived(of string, n uint64) trace.TraceID {
	h := fnv.New128a()
	_, _ = h.Write([]byte(of)) // a hash does not fail
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	_, _ = h.Write(b[:])
	var id trace.TraceID
	for i, c := range h.Sum(nil) {
		if i < 8 {
			id.Hi = id.Hi<<8 | uint64(c)
		} else {
			id.Lo = id.Lo<<8 | uint64(c)
		}
	}
	id.Lo |= 1
	return id
}

// part makes the tree of a span that has ended, of what is below it in recs.
func part(end *trace.Record, recs []trace.Record) *export.Tree {
	up := map[trace.SpanID]trace.SpanID{}
	for i := range recs {
		up[recs[i].Span] = recs[i].Parent
	}
	own := make([]trace.Record, 0, 32)
	for i := range recs {
		if below(up, recs[i].Span, end.Span) {
			own = append(own, recs[i])
		}
	}
	return &export.Tree{
		Pod: end.Pod, Trace: end.Trace, Root: end.Span, Start: time.Unix(0, end.Start()), End: end.At(), Err: trace.Failure(end.Event), Recs: own,
	}
}

// maxUp limits the walk from a span to its root.
const maxUp = 64

func below(up map[trace.SpanID]trace.SpanID, id, root trace.SpanID) bool {
	for range maxUp {
		if id == root {
			return true
		}
		next, ok := up[id]
		if !ok || next == 0 || next == id {
			return false
		}
		id = next
	}
	return false
}

// completed reports whether a status says that a pod's containers are finished.
func completed(e *trace.PodStatus) bool { return e.Phase.Terminal() }
