package e2e

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// checkStream sees that the records of an agent that ended in order hold together: none is
// missing, time does not run backwards, and all that began has ended.
func (a *agent) checkStream() {
	a.node.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	open := map[trace.SpanID]*trace.Record{}
	for i := range a.recs {
		r := &a.recs[i]
		if want := uint64(i + 1); r.Seq != want {
			a.node.t.Errorf("record %d is followed by %d", want-1, r.Seq)
			return
		}
		if i > 0 && r.Time < a.recs[i-1].Time {
			a.node.t.Errorf("record %d is %d ns older than the one before", r.Seq, a.recs[i-1].Time-r.Time)
		}
		switch r.Edge {
		case trace.EdgeBegin:
			if open[r.Span] != nil {
				a.node.t.Errorf("record %d, %s: its span began before", r.Seq, r.Event.Kind())
			}
			open[r.Span] = r
		case trace.EdgeEnd:
			if open[r.Span] == nil {
				a.node.t.Errorf("record %d, %s: its span never began", r.Seq, r.Event.Kind())
			}
			delete(open, r.Span)
		case trace.EdgePoint:
		}
	}
	left := make([]*trace.Record, 0, len(open))
	for _, r := range open {
		left = append(left, r)
	}
	slices.SortFunc(left, func(x, y *trace.Record) int { return int(x.Seq) - int(y.Seq) })
	for _, r := range left {
		a.node.t.Errorf("record %d, %s of %s, began and never ended: %+v", r.Seq, r.Event.Kind(), r.Pod, r.Event)
	}
	node := a.model.Node()
	if node.Lost != 0 {
		a.node.t.Errorf("%d records were lost", node.Lost)
	}
}
