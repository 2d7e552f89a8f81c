package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// sameEnds is how far the ends of a span and of a call that names no ids may lie apart.
	sameEnds = 20 * time.Millisecond
	// apart is how far a span may lie outside the call whose ids it has: one call's ids can come again.
	apart = time.Second
	// maxViews bounds the spans that wait for their call, and those whose call is known.
	maxViews = 1 << 10
)

// views are the spans in which a kubelet and its runtime tell of calls: one of the client, one of the server.
type views struct {
	waiting []*item // for their call, the oldest first
	ended   bool    // a call has, or a span has found its call, since they were looked at
	of      map[trace.SpanID]*thing
	// parents are the parents of the server's spans: the client's spans.
	parents map[trace.SpanID]*thing
	order   []known
}

// known is a span whose call is known, with its parent.
type known struct{ span, parent trace.SpanID }

// know notes the call of a span.
func (v *views) know(r *trace.Record, t *thing) {
	if v.of == nil {
		v.of, v.parents = map[trace.SpanID]*thing{}, map[trace.SpanID]*thing{}
	}
	k := known{span: r.Span}
	if r.Observer == trace.ObserverRuntimeSpan && r.Parent != 0 {
		k.parent = r.Parent
		v.parents[k.parent] = t
	}
	v.of[k.span], v.ended = t, true
	if v.order = append(v.order, k); len(v.order) > maxViews {
		delete(v.of, v.order[0].span)
		delete(v.parents, v.order[0].parent)
		v.order = v.order[1:]
	}
}

// isView reports whether a record is a span of a call that changes something, as its sender sent it.
func isView(r *trace.Record) bool {
	e, ok := r.Event.(*trace.RuntimeSpan)
	return ok && (r.Observer == trace.ObserverRuntimeSpan || r.Observer == trace.ObserverKubeletSpan) && e.Call() != ""
}

// view takes in a span of a call, whose call may be known already.
func (m *Merger) view(it *item) {
	if m.findCall(it, false) {
		return
	}
	if m.views.waiting = append(m.views.waiting, it); len(m.views.waiting) > maxViews {
		m.views.waiting = slices.Delete(m.views.waiting, 0, 1)
	}
}

// viewed looks for the call of each span that waits, if one has ended since.
func (m *Merger) viewed() {
	for m.views.ended { // one span can tell whose another one is
		m.views.ended = false
		m.views.waiting = slices.DeleteFunc(m.views.waiting, func(it *item) bool { return m.findCall(it, false) })
	}
}

// findCall finds the call of a span and takes in what the span tells of it. complete says that all records of that time are known.
func (m *Merger) findCall(it *item, complete bool) bool {
	r := &it.rec
	e, ok := r.Event.(*trace.RuntimeSpan)
	if !ok {
		return false
	}
	t := m.meant(r, e, complete)
	if t == nil {
		return false
	}
	m.views.know(r, t)
	t.views = append(t.views, r.Observer)
	m.report.Shared++
	w := whole(r, e)
	m.agree(t, w, t.from, e.Start, t.precision, "begins")
	m.agree(t, w, t.to, r.Time, t.precision, "ends")
	m.improve(t, w)
	return true
}

// viewDue gives a span of a call that is due its pod and its place below the call. It returns false if nobody else told of the call.
func (m *Merger) viewDue(it *item, r *trace.Record) bool {
	if m.views.of[r.Span] == nil {
		m.views.waiting = slices.DeleteFunc(m.views.waiting, func(w *item) bool { return w == it })
		if !m.findCall(it, true) {
			return false
		}
	}
	t := m.views.of[r.Span]
	r.Parent = t.span
	for ; t != nil && r.Pod.Name == ""; t = t.up { // a pull names no pod
		r.Pod, r.Trace = t.pod, t.trace
	}
	return true
}

// whole is a span of a call as a record of it.
func whole(r *trace.Record, e *trace.RuntimeSpan) *trace.Record {
	return &trace.Record{Time: r.Time, Dur: e.Dur, Edge: trace.EdgeEnd, Observer: r.Observer, Precision: r.Precision, Event: &trace.CRICall{Method: e.Call()}}
}

// meant is the call that a span is of; nil if none has ended yet, or several are possible.
func (m *Merger) meant(r *trace.Record, e *trace.RuntimeSpan, complete bool) *thing {
	for _, t := range []*thing{m.views.of[r.Parent], m.views.parents[r.Span]} { // the client's span is known, or the server's
		if t != nil && t.free(e, r.Observer) {
			return t
		}
	}
	var same, nearby []*thing
	for _, t := range m.same.calls {
		if !complete && t.end == nil && t.isCall(e.Call()) && apartBy(e.Start, t.from) <= sameEnds {
			nearby = append(nearby, t) // it may end when the span does
		}
		if !t.free(e, r.Observer) || e.Start > t.to+int64(apart) || r.Time < t.from-int64(apart) {
			continue
		}
		switch known, is := t.subject(e.Attrs); {
		case known && !is:
			continue
		case known:
			same = append(same, t)
		}
		if apartBy(e.Start, t.from) <= sameEnds && apartBy(r.Time, t.to) <= sameEnds {
			nearby = append(nearby, t)
		}
	}
	switch {
	case len(same) == 1:
		return same[0]
	case len(nearby) == 1 && nearby[0].end != nil:
		return nearby[0]
	}
	return nil
}

func apartBy(a, b int64) time.Duration { return time.Duration(max(a-b, b-a)) }

// free reports whether a thing is a call of a span's method that has ended, and of which the observer has sent no span yet.
func (t *thing) free(e *trace.RuntimeSpan, by trace.Observer) bool {
	return t.was != nil && t.was.Method == e.Call() && !slices.Contains(t.views, by)
}

// isCall reports whether a thing is a call of a method.
func (t *thing) isCall(method string) bool {
	if t.begin == nil {
		return false
	}
	c, ok := t.begin.rec.Event.(*trace.CRICall)
	return ok && c.Method == method
}

// calledAs notes what call a thing was, for spans that come when its end is out.
func (t *thing) calledAs(end trace.Event) {
	if c, ok := end.(*trace.CRICall); ok {
		t.was = &trace.CRICall{Method: c.Method, Sandbox: c.Sandbox, Container: c.Container, Image: c.Image}
	}
}

// subject reports whether both a call and attributes of a span say which container, sandbox or image they are about, and whether it is the same.
func (t *thing) subject(attrs []trace.KV) (known, same bool) {
	var of trace.CRICall
	for _, a := range attrs {
		switch a.K {
		case trace.AttrContainer:
			of.Container = cmp.Or(of.Container, a.V)
		case trace.AttrSandbox:
			of.Sandbox = cmp.Or(of.Sandbox, a.V)
		case trace.AttrImage:
			of.Image = cmp.Or(of.Image, a.V)
		}
	}
	c := t.was
	switch {
	case of.Container != "" && c.Container != "":
		return true, of.Container == c.Container
	case of.Sandbox != "" && c.Sandbox != "":
		return true, of.Sandbox == c.Sandbox
	case of.Image != "" && c.Image != "":
		return true, image(of.Image) == image(c.Image)
	}
	return false, false
}

// improve takes in what an observer tells of a thing's begin and end that are not out yet, and of the actions that consist of this call only as
// far as the runtime tells.
func (m *Merger) improve(t *thing, by *trace.Record) {
	all := []*thing{t}
	for up := t.up; up != nil && up.onlyRuntime() && len(all) < maxAlike; up = up.up {
		all = append(all, up)
	}
	for _, t := range slices.Backward(all) { // what contains others begins first
		if begin := m.better(t.begin, by, by.Start()); begin != t.begin {
			t.begin, t.from = begin, begin.rec.Time
		}
	}
	for _, t := range all {
		end := m.better(t.end, by, by.Time)
		if end == t.end {
			continue
		}
		if t.end, t.to = end, end.rec.Time; t.begin == nil {
			t.from = by.Start()
		}
	}
	for _, t := range all {
		if t.end != nil && !t.end.gone {
			t.end.rec.Dur = time.Duration(max(t.to-t.from, 0))
			m.containerStarts(&t.end.rec)
		}
	}
}

// better is what waits with the time of another observer, if that knows it better.
func (m *Merger) better(it *item, by *trace.Record, at int64) *item {
	if it == nil || it.gone {
		return it
	}
	if !better(&trace.Record{Observer: by.Observer, Precision: by.Precision, Event: it.rec.Event}, &it.rec) {
		it.rec.Also = both(&it.rec, by)
		return it
	}
	moved := *it
	moved.rec.Also = both(by, &it.rec)
	moved.rec.Time, moved.rec.Observer, moved.rec.Precision = at, by.Observer, by.Precision
	it.gone, it.lost = true, 0
	m.out.Add(at, &moved)
	return &moved
}

// onlyRuntime reports whether the times of a thing are those of a line of the runtime's log, or of a span in its place.
func (t *thing) onlyRuntime() bool {
	for _, it := range []*item{t.begin, t.end} {
		if it != nil && it.rec.Observer != trace.ObserverRuntimeLog && it.rec.Observer != trace.ObserverRuntimeSpan {
			return false
		}
	}
	return true
}
