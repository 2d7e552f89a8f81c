package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// waits are the current waits, and sums of finished ones.
type waits struct {
	open  map[trace.SpanID]*Wait
	total map[trace.WaitKind]*WaitTotal
}

func newWaits() waits {
	return waits{open: map[trace.SpanID]*Wait{}, total: map[trace.WaitKind]*WaitTotal{}}
}

// now returns the current ones, oldest first.
func (w *waits) now() []Wait {
	return values(w.open, func(w Wait) time.Time { return w.Since })
}

// over returns the sums of finished ones, longest first.
func (w *waits) over() []WaitTotal {
	out := make([]WaitTotal, 0, len(w.total))
	for _, t := range w.total {
		out = append(out, *t)
	}
	sorting.Stable(out, func(a, b *WaitTotal) int {
		return cmp.Or(cmp.Compare(b.Dur, a.Dur), cmp.Compare(a.For, b.For))
	})
	return out
}

// add counts a finished wait.
func (w *waits) add(kind trace.WaitKind, dur time.Duration) {
	t := w.total[kind]
	if t == nil && len(w.total) < maxWaitKinds {
		t = &WaitTotal{For: kind}
		w.total[kind] = t
	}
	if t != nil {
		t.Count++
		t.Dur += dur
	}
}

// applyWait adds a wait to each of its lists.
func (m *Model) applyWait(r *trace.Record, e *trace.Wait, of ...*waits) {
	switch r.Edge {
	case trace.EdgeBegin:
		w, id := &Wait{Wait: *e, Since: r.At()}, r.Span
		for _, o := range of {
			o.open[r.Span] = w
		}
		m.begin(func() {
			for _, o := range of {
				delete(o.open, id)
			}
		}, func() { w.Uncertain = true })
	case trace.EdgeEnd:
		for _, o := range of {
			o.add(e.For, r.Dur)
		}
		m.end()
	case trace.EdgePoint:
	}
}

// aboutAPI reports whether a back-off is for requests to the API server.
func aboutAPI(k trace.TargetKind) bool {
	return slices.Contains([]trace.TargetKind{
		trace.TargetRetryAfter, trace.TargetEvents, trace.TargetStatuses, trace.TargetStatus, trace.TargetMirrorPods, trace.TargetWatch,
	}, k)
}

func (m *Model) applyPodWait(p *pod, r *trace.Record, e *trace.Wait) {
	of := []*waits{&p.waits}
	if v := p.waitsFor(r, e); v != nil {
		of = append(of, &v.waits)
	}
	if waterfall.AboutStatus(e) {
		of = append(of, &p.status().waits)
	}
	if e.For == trace.WaitTokens || e.For == trace.WaitBackoff && aboutAPI(e.Target.Kind) {
		of = append(of, &m.api.waits)
	}
	if e.For == trace.WaitProbe && r.Edge == trace.EdgeBegin {
		p.nextProbe(e)
	}
	m.applyWait(r, e, of...)
	if e.For == trace.WaitBackoff && !waterfall.AboutStatus(e) {
		p.backoff()
	}
}
