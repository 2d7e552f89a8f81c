package model

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
)

// short is the length in bytes to which a text is cut if there is no room.
const short = 256

// fit weighs everything, and makes room if it is too much. It is called when the records since the last call used up
// the room, at least a quarter of the budget, so that the cost per record is small.
func (m *Model) fit() {
	limit := m.opt.Bytes - m.opt.Bytes/4
	defer func() { m.came = min(m.came, limit) }()
	if m.came = m.weigh(); m.came <= limit {
		return
	}
	m.shortenHistories()
	m.kept.Halve(func(pod trace.Pod) bool { return m.pods[pod] != nil })
	if m.came = m.weigh(); m.came <= limit {
		return
	}
	for _, p := range m.heaviest() {
		if m.came <= limit {
			return
		}
		m.came -= p.weight
		p.shorten(m)
		p.weight = weighPod(newScale(), p) + m.kept.BytesOf(p.Key)
		m.came += p.weight
	}
	for m.came > limit && len(m.pods) > 0 {
		m.came -= m.dropQuietest()
	}
}

// weigh returns the total size, and sets each pod's weight.
func (m *Model) weigh() int {
	s := newScale()
	all := 0
	for _, p := range m.pods {
		p.weight = weighPod(s, p)
		all += p.weight
		p.weight += m.kept.BytesOf(p.Key)
	}
	for _, part := range []any{
		&m.node, &m.loops, &m.calls, &m.samples, &m.passes, &m.decisions, &m.pressure, &m.lines, &m.alarms, &m.sources, &m.origins, &m.urls,
		&m.pressed, &m.short, &m.conditions, &m.certificates, &m.res, &m.api, &m.nodes, &m.starts,
	} {
		all += s.whole(reflect.ValueOf(part).Elem())
	}
	m.calls.Each(func(c *Call) {
		bodies := trace.Record{Event: &trace.CRICall{Request: c.Request, Response: c.Response}}
		all += bodies.Size()
	})
	return all + m.kept.Bytes()
}

func weighPod(s *scale, p *pod) int { return s.whole(reflect.ValueOf(p).Elem()) }

// heaviest returns all pods, heaviest first, as last weighed.
func (m *Model) heaviest() []*pod {
	out := make([]*pod, 0, len(m.pods))
	for _, p := range m.pods {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *pod) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// shortenHistories cuts everything but the last entries to the fields that lists show.
func (m *Model) shortenHistories() {
	but(&m.calls, 100, func(c *Call) { c.Request, c.Response = trace.Body{}, trace.Body{} })
	but(&m.loops, 50, func(l *loop) { l.Caused = nil })
	but(&m.starts, 100, func(s *Start) { s.Segments = nil })
	but(&m.passes, 2, func(p *Pass) {
		p.Omitted += len(p.Decisions)
		p.Decisions = nil
	})
	m.res.shorten()
	m.decisions.Halve()
	m.lines.Halve()
	m.alarms.Halve()
}

// but changes all but the last n entries.
func but[T any](r *ring.Ring[T], n int, change func(T)) {
	left := r.Len() - n
	r.Each(func(v T) {
		if left--; left >= 0 {
			change(v)
		}
	})
}

// shorten cuts a pod's data: it removes the records of its start, and cuts lists and texts.
func (p *pod) shorten(m *Model) {
	m.kept.Cut(p.Key)
	spec := trace.Milestone{Spec: p.Spec, Labels: p.Labels}
	cutEvent(&spec)
	p.Spec, p.Labels = spec.Spec, spec.Labels
	if p.Plan != nil {
		plan := *p.Plan
		cutEvent(&plan)
		p.Plan = &plan
	}
	status := trace.PodStatus{Message: p.Message, Containers: p.Containers}
	cutEvent(&status)
	p.Message, p.Containers = status.Message, status.Containers
	p.waits.shorten()
	if w := p.written; w != nil {
		for _, patch := range []*Patch{&w.Last, &w.Open, &w.Good} {
			cutEvent(&patch.StatusPatch)
		}
		w.waits.shorten()
	}
	for _, v := range p.volumes {
		v.Err = trace.Clip(v.Err, short)
		v.Calls = slices.Clone(v.Calls[max(len(v.Calls)-1, 0):])
		for i := range v.Calls {
			cutEvent(&v.Calls[i].CSICall)
		}
		for _, c := range v.calls {
			cutEvent(&c.CSICall)
		}
		v.waits.shorten()
	}
	for _, pr := range p.probes {
		pr.Output = trace.Clip(pr.Output, short)
	}
}

func (w *waits) shorten() {
	for _, o := range w.open {
		cutEvent(&o.Wait)
		o.Behind = nil
	}
}

// cutEvent shortens an event in place; what it points to is shared, and not changed.
func cutEvent[E any, P interface {
	*E
	trace.Event
}](e P) {
	r := trace.Record{Event: e}
	r.Shorten()
	if cut, ok := r.Event.(P); ok {
		*e = *cut
	}
}
