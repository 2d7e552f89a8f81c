package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxParts bounds the parts of a pull that wait for its end.
const maxParts = 512

// isPart takes in what a runtime's event tells of a part of a call. It returns false for all other records, which are due. Parts of pulls
// wait for the pull's end, because its pod may be known only then; parts of calls that nobody told of are dropped.
func (m *Merger) isPart(r *trace.Record) bool {
	e, ok := r.Event.(*trace.RuntimeSpan)
	if !ok || r.Observer != trace.ObserverRuntimeEvents {
		return false
	}
	var t *thing
	switch e.Name {
	case trace.SpanLayerArrived, trace.SpanLayerUnpacked:
		if t = m.pulling(r.Time); t != nil && len(t.parts) < maxParts {
			t.parts = append(t.parts, *r)
		}
		return true
	case trace.SpanNewTask, trace.SpanStartTask:
		t = m.starts(r, e)
	default:
		return false
	}
	if t == nil {
		return true
	}
	m.parts = append(m.parts, part(t, r, r.Time))
	return true
}

// pulls notes which call a pull is.
func (m *Merger) pulls(r *trace.Record) {
	if e, ok := r.Event.(*trace.CRICall); ok && e.Method == "PullImage" && r.Edge == trace.EdgeBegin {
		if t := m.same.alias[r.Parent]; t != nil {
			t.call = r.Span
		}
	}
}

// part is a part of a thing, told at a time.
func part(t *thing, r *trace.Record, at int64) trace.Record {
	p := *r
	if e, ok := r.Event.(*trace.RuntimeSpan); ok && e.Start == 0 {
		whole := *e
		whole.Start, whole.Dur = t.from, time.Duration(max(r.Time-t.from, 0))
		p.Event = &whole
	}
	p.Parent, p.Pod, p.Trace, p.Time = cmp.Or(t.call, t.span), t.pod, t.trace, at
	return p
}

// partsOf has the parts of a pull follow its end.
func (m *Merger) partsOf(t *thing, end *trace.Record) {
	t.pod, t.trace = end.Pod, end.Trace
	for i := range t.parts {
		m.parts = append(m.parts, part(t, &t.parts[i], end.Time))
	}
	t.parts = nil
}

// starts is the call that starts a task; nil where nobody told of it.
func (m *Merger) starts(r *trace.Record, e *trace.RuntimeSpan) *thing {
	like := trace.Record{Pod: r.Pod, Trace: r.Trace, Event: &trace.CRICall{Method: "RunPodSandbox"}}
	for _, a := range e.Attrs {
		if a.K == trace.AttrContainer {
			like.Event = &trace.CRICall{Method: "StartContainer", Container: a.V}
		}
	}
	for _, t := range slices.Backward(m.same.latest(keyOf(&like))) {
		if t.during(r.Time) {
			return t
		}
	}
	return nil
}

// pulling is the only pull that goes on at a time; nil where there are several. Those count first that the runtime told of: for others the
// kubelet may be waiting itself.
func (m *Merger) pulling(at int64) (only *thing) {
	by, n := false, 0
	for _, t := range m.same.order {
		if !t.during(at) || t.begin == nil {
			continue
		}
		if _, pull := t.begin.rec.Event.(*trace.ImagePull); !pull {
			continue
		}
		saw := t.begin.rec.Also.With(t.begin.rec.Observer)
		runtime := saw != saw.Without(trace.ObserverRuntimeLog)
		switch {
		case by && !runtime:
		case runtime && !by:
			only, by, n = t, true, 1
		default:
			only = t
			n++
		}
	}
	if n != 1 {
		return nil
	}
	return only
}

// during reports whether a thing goes on at a time, as exactly as events and logs agree.
func (t *thing) during(at int64) bool {
	return t.from <= at+int64(slack) && (t.to == 0 || at <= t.to+int64(slack))
}
