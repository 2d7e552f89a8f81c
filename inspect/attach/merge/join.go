package merge

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// join makes one of a thing and another observer's begin, point or whole span.
func (m *Merger) join(t *thing, it *item) {
	m.report.Shared++
	t.told = t.told.with(it.from)
	r := &it.rec
	if r.Edge != trace.EdgeEnd || r.Dur > 0 { // an end without a duration: when it began is not known
		m.agree(t, r, t.from, r.Start(), t.precision, "begins")
	}
	if r.Edge != trace.EdgePoint {
		m.same.become(r.Span, t)
		m.same.spans[r.Span] = t
	}
	if r.Edge == trace.EdgeEnd { // it tells of both
		if r.Observer == trace.ObserverKubeletSpan {
			if first := m.better(t.begin, r, r.Start()); first != t.begin {
				t.begin, t.from = first, first.rec.Time
			}
		}
		m.ends(t, it)
		return
	}
	first := t.begin
	if first == nil || first.gone { // it is out, or told by an end alone
		it.gone = first != nil || t.end != nil
		return
	}
	best, other := first, it
	if better(r, &first.rec) {
		best, other = it, first
	}
	joined := best.rec
	joined.Event = fill(best.rec.Event, other.rec.Event)
	if joined.Edge != trace.EdgePoint {
		joined.Span, joined.Parent = t.span, cmp.Or(first.rec.Parent, r.Parent)
	}
	if joined.Pod.Name == "" {
		joined.Pod, joined.Trace = other.rec.Pod, other.rec.Trace
	}
	joined.Also = both(&best.rec, &other.rec)
	t.pod, t.trace, t.from, t.precision = joined.Pod, joined.Trace, joined.Time, joined.Precision.Duration()
	first.gone, it.rec, it.thing, t.begin = true, joined, t, it
	if first.lost > 0 {
		it.lost += first.lost
	}
}

// ends is an observer's end of a thing: with another one's, one of both; else it waits as if it were the only one.
func (m *Merger) ends(t *thing, it *item) {
	delete(m.same.spans, it.rec.Span)
	m.views.ended = true
	r := &it.rec
	r.Span = t.span
	it.thing = t
	switch first := t.end; {
	case first == nil:
	case first.gone: // it is out
		it.gone = true
		return
	default:
		m.agree(t, r, t.to, r.Time, first.rec.Precision.Duration(), "ends")
		best, other := first, it
		if better(r, &first.rec) {
			best, other = it, first
		}
		joined := best.rec
		joined.Event = fill(best.rec.Event, other.rec.Event)
		joined.Also = both(&best.rec, &other.rec)
		joined.Parent = cmp.Or(first.rec.Parent, r.Parent)
		it.lost += first.lost
		first.gone, it.rec = true, joined
	}
	if it.rec.Pod.Name == "" {
		it.rec.Pod, it.rec.Trace = t.pod, t.trace
	}
	t.to, t.end = it.rec.Time, it
	t.calledAs(it.rec.Event)
	it.rec.Dur = time.Duration(max(it.rec.Time-min(t.from, it.rec.Start()), 0))
	if t.begin != nil {
		it.rec.Dur = time.Duration(max(it.rec.Time-t.from, 0))
	}
}

// finish puts into a record what became known while it waited.
func (m *Merger) finish(it *item, r *trace.Record) {
	if it.thing != nil {
		it.gone = true // it is out
		if it == it.thing.end && it != it.thing.begin {
			it.rec.Event = nil // nobody reads it again
		}
	}
	if t := m.same.alias[r.Span]; t != nil && r.Edge != trace.EdgePoint {
		r.Span = t.span
	}
	if t := m.same.alias[r.Parent]; t != nil {
		r.Parent = t.span
		if r.Pod.Name == "" {
			r.Pod, r.Trace = t.pod, t.trace
		}
	}
	if it.thing != nil && r.Pod.Name == "" {
		r.Pod, r.Trace = it.thing.pod, it.thing.trace
	}
	if it.thing != nil && r.Edge == trace.EdgeEnd {
		m.partsOf(it.thing, r)
	}
}

// afterStart lets an init container run from the end of its start on, as the kubelet knows it: the runtime's time is a little earlier.
func (m *Merger) afterStart(it *item, r *trace.Record) {
	w, ok := r.Event.(*trace.Wait)
	if !ok || w.For != trace.WaitInit || r.Edge != trace.EdgeEnd || it.thing == nil || it.thing.begin != nil {
		return
	}
	started := m.same.ended(&trace.Record{Pod: r.Pod, Event: &trace.Action{ID: "start " + w.Target.Name}}, r.Time)
	if started > r.Start() {
		r.Dur = time.Duration(r.Time - started)
	}
}

// agree notes where two observers' times of one thing lie too far apart.
func (m *Merger) agree(t *thing, r *trace.Record, a, b int64, precision time.Duration, edge string) {
	switch r.Event.(type) {
	case *trace.Action, *trace.Wait: // a call lies within its action, and what it waits for
		return
	}
	d := time.Duration(max(a-b, b-a))
	if d <= precision+r.Precision.Duration()+slack {
		return
	}
	m.report.Disagreed++
	if d > m.report.Most {
		pod := r.Pod
		if pod.Name == "" {
			pod = t.pod
		}
		m.report.Most, m.report.What = d, pod.String()+" "+r.Event.Kind().String()+" "+edge
	}
}

// better reports whether a knows a thing's time better than b. What the kubelet does it knows best itself; calls the runtime.
func better(a, b *trace.Record) bool {
	const exact = 10 * time.Millisecond
	if a.Precision.Duration() <= exact && b.Precision.Duration() <= exact {
		return rank(a) < rank(b)
	}
	return a.Precision < b.Precision
}

// rank says who knows such a thing best.
func rank(r *trace.Record) int {
	order := []trace.Observer{trace.ObserverAgent, trace.ObserverKubeletSpan, trace.ObserverKubeletLog, trace.ObserverProxy, trace.ObserverRuntimeSpan, trace.ObserverRuntimeLog, trace.ObserverRuntimeEvents}
	if _, call := r.Event.(*trace.CRICall); call {
		order = []trace.Observer{trace.ObserverAgent, trace.ObserverKubeletSpan, trace.ObserverProxy, trace.ObserverRuntimeSpan, trace.ObserverRuntimeLog}
	}
	for i, o := range order {
		if r.Observer == o {
			return i
		}
	}
	return len(order)
}

// both are the observers beside the record's own.
func both(best, other *trace.Record) trace.ObserverSet {
	return (best.Also | other.Also).With(other.Observer).Without(best.Observer)
}

// fill is an event with what only the other observer's tells.
func fill(best, other trace.Event) trace.Event {
	switch b := best.(type) {
	case *trace.Action:
		if o, ok := other.(*trace.Action); ok {
			e := *b
			e.Container, e.Target, e.Err, e.Class = cmp.Or(b.Container, o.Container), cmp.Or(b.Target, o.Target), cmp.Or(b.Err, o.Err), cmp.Or(b.Class, o.Class)
			if e.Replaces == "" && o.Replaces != "" {
				e.Replaces, e.Reason = o.Replaces, o.Reason
			}
			return &e
		}
	case *trace.CRICall:
		if o, ok := other.(*trace.CRICall); ok {
			e := *b
			e.Sandbox, e.Container, e.Image = cmp.Or(b.Sandbox, o.Sandbox), cmp.Or(b.Container, o.Container), cmp.Or(b.Image, o.Image)
			e.Code, e.Err, e.Class, e.Plugin = cmp.Or(b.Code, o.Code), cmp.Or(b.Err, o.Err), cmp.Or(b.Class, o.Class), cmp.Or(b.Plugin, o.Plugin)
			return &e
		}
	case *trace.Sync:
		if o, ok := other.(*trace.Sync); ok {
			e := *b
			e.N, e.Cause, e.Err = cmp.Or(b.N, o.N), cmp.Or(b.Cause, o.Cause), cmp.Or(b.Err, o.Err)
			if o.Why == trace.SyncCreate {
				e.Why = o.Why
			}
			return &e
		}
	case *trace.Milestone:
		if o, ok := other.(*trace.Milestone); ok {
			e := *b
			e.Source, e.Spec, e.Labels = cmp.Or(b.Source, o.Source), cmp.Or(b.Spec, o.Spec), cmp.Or(b.Labels, o.Labels)
			return &e
		}
	case *trace.OOMKill:
		if o, ok := other.(*trace.OOMKill); ok {
			e := *b
			e.Name, e.Cgroup, e.Kills = cmp.Or(b.Name, o.Name), cmp.Or(b.Cgroup, o.Cgroup), cmp.Or(b.Kills, o.Kills)
			if e.Process == "" {
				e.Process, e.PID, e.RSS, e.Constraint, e.Limited = o.Process, o.PID, o.RSS, o.Constraint, o.Limited
			}
			return &e
		}
	case *trace.ImagePull:
		if o, ok := other.(*trace.ImagePull); ok {
			e := *b
			e.Ref, e.Bytes, e.Err, e.Class = cmp.Or(b.Ref, o.Ref), cmp.Or(b.Bytes, o.Bytes), cmp.Or(b.Err, o.Err), cmp.Or(b.Class, o.Class)
			return &e
		}
	}
	return best
}

// containerStarts notes when the last container of a pod was started, as whoever made the call knows it. A kubelet's log may know it to a second only,
// and its milestone is out before it is clear for the runtime that no other container follows.
func (m *Merger) containerStarts(r *trace.Record) {
	if a, ok := r.Event.(*trace.Action); ok && r.Edge == trace.EdgeEnd && a.Verb == trace.VerbStart && a.Err == "" && r.Pod.Name != "" {
		last := *r
		last.Event = nil
		id := m.pods.of(r.Pod, r.Trace)
		id.lastStart = last
		if s := &id.started; s.item != nil && !s.item.gone && tellsOf(&last, &s.item.rec) { // it came before
			s.to, s.by = last.Time, last
			s.item = m.moved(s, s.item)
			m.readyMoves(s)
		}
	}
}

// startMoves takes in milestones. What the runtime says of a pod's life counts where the kubelet does not tell of the pod; of its start, also
// where it knows better when that was. Being ready follows, where it was said of the same moment.
func (m *Merger) startMoves(it *item) bool {
	e, ok := it.rec.Event.(*trace.Milestone)
	if !ok {
		return false
	}
	id := m.pods.of(it.rec.Pod, it.rec.Trace)
	runtime := it.rec.Observer == trace.ObserverRuntimeLog || it.rec.Observer == trace.ObserverRuntimeEvents
	if runtime && (id.kubelet || id.objects) && e.Name != trace.MilestoneStarted {
		it.gone = true
		return true
	}
	switch e.Name {
	case trace.MilestoneSeen:
		id.sighting = it
		id.found()
		return m.seenAgain(it, id)
	case trace.MilestoneTerminating, trace.MilestoneGone:
		id.seen, id.objects, id.ran, id.sighting = false, false, 0, nil
	case trace.MilestoneStarted:
		if runtime && !e.Adopted && id.ran == 0 {
			id.ran = it.rec.Time
			id.found()
		}
		id.sighting = nil // what the runtime started later is no other kubelet's
	case trace.MilestoneReady:
	}
	switch s := &id.started; {
	case e.Name == trace.MilestoneStarted && runtime:
		if l := &id.lastStart; l.Observer != it.rec.Observer && apartBy(l.Time, it.rec.Time) <= near { // another observer knows better when that was
			it.rec.Time, it.rec.Observer, it.rec.Precision, it.rec.Also = l.Time, l.Observer, l.Precision, both(l, &it.rec)
		}
		s.to, s.by = it.rec.Time, it.rec
		m.readyMoves(s)
	case e.Name == trace.MilestoneStarted:
		s.from, s.item = it.rec.Time, it
		if l := &id.lastStart; tellsOf(l, &it.rec) {
			s.to, s.by = l.Time, *l
			s.move(&it.rec)
		}
	case e.Name == trace.MilestoneReady && s.moves(&it.rec):
		if s.move(&it.rec); s.ready != nil && s.ready.rec.Time == it.rec.Time { // others know it, too
			s.ready.rec.Also = both(&s.ready.rec, &it.rec)
			it.gone = true
			return true
		}
		s.ready = it
		return true
	case e.Name == trace.MilestoneReady:
		s.ready = it
	}
	return false
}

// readyMoves moves a pod's being ready, where it came before its start was known better.
func (m *Merger) readyMoves(s *startedAt) {
	if r := s.ready; r != nil && !r.gone && s.moves(&r.rec) {
		s.ready = m.moved(s, r)
	}
}

// moved puts what waits where the start is.
func (m *Merger) moved(s *startedAt, it *item) *item {
	moved := *it
	s.move(&moved.rec)
	it.gone, it.lost = true, 0
	m.out.Add(moved.rec.Time, &moved)
	return &moved
}

// tellsOf reports whether the last start of a container is the pod's start, whose time is known worse.
func tellsOf(last, started *trace.Record) bool {
	known := started.Precision.Duration()
	return last.Time != 0 && known > time.Millisecond && last.Precision < started.Precision &&
		last.Time < started.Time && time.Duration(started.Time-last.Time) <= known+slack
}

// seenAgain takes in that a pod is there. Where one of two that tell it is the API's object, this may be much sooner than the kubelet or the
// runtime knew: it counts once in a life, as it was told first.
func (m *Merger) seenAgain(it *item, id *identity) bool {
	object := it.rec.Observer == trace.ObserverAPIServer || it.rec.Observer == trace.ObserverKubeletAPI
	again := id.seen && (object || id.objects) && m.same.find(keyOf(&it.rec), it) == nil
	id.seen, id.objects = true, id.objects || object
	it.gone = again
	return again
}

// found marks that a pod was found running, where the runtime had started its containers before the kubelet saw it: they were another kubelet's.
func (id *identity) found() {
	it := id.sighting
	if it == nil || id.ran == 0 || !ofKubelet(it.rec.Observer) || time.Duration(it.rec.Time-id.ran) <= near+it.rec.Precision.Duration() {
		return
	}
	if e, ok := it.rec.Event.(*trace.Milestone); ok && !e.Adopted {
		own := *e
		own.Adopted = true
		it.rec.Event = &own
	}
}

// moves reports whether a pod was said to be ready in the moment of its start, of which another observer knows better when it was.
func (s *startedAt) moves(ready *trace.Record) bool {
	return ready.Time == s.from && s.to != 0 && s.to < s.from && ready.Precision > s.by.Precision && ready.Precision.Duration() > time.Millisecond
}

func (s *startedAt) move(ready *trace.Record) {
	ready.Also = both(&s.by, ready)
	ready.Time, ready.Observer, ready.Precision = s.to, s.by.Observer, s.by.Precision
}
