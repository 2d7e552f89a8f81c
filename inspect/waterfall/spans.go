package waterfall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

const (
	// maxSpanRows is how many of a call's spans are drawn, the longest ones.
	maxSpanRows = 24
	// maxSpanDepth limits how deep spans are followed.
	maxSpanDepth = 32
	// spanSlack is how far a runtime's span may be outside its call before the clocks count as different.
	spanSlack = time.Millisecond
	// farthest is the maximum distance of a runtime's span from the origin; more is invalid.
	farthest = 100 * 365 * 24 * time.Hour
	// maxAttach limits the networks among which a plugin's is searched; a pod has a few.
	maxAttach = 64
)

// rspan is a span that the runtime reported.
type rspan struct {
	id, parent trace.SpanID
	start, end time.Duration // since the origin, by the runtime's clock
	event      *trace.RuntimeSpan
	kids       []*rspan // in order of start
}

func (s *rspan) dur() time.Duration { return s.end - s.start }

// collectSpans connects the runtime's spans. They arrive in any order, late, and some not at all: spans without a path
// to a call are not drawn.
func (w *Waterfall) collectSpans(own []trace.Record) {
	by := map[trace.SpanID]*rspan{}
	var order []*rspan
	twice := spansOf(own)
	for i := range own {
		e, ok := own[i].Event.(*trace.RuntimeSpan)
		if !ok || by[own[i].Span] != nil || twice.tells(&own[i], e) {
			continue
		}
		s := &rspan{id: own[i].Span, parent: own[i].Parent, event: e}
		s.start = min(max(time.Duration(e.Start)-time.Duration(w.t0), -farthest), farthest)
		s.end = s.start + min(max(e.Dur, 0), farthest)
		by[s.id] = s
		order = append(order, s)
	}
	slices.SortStableFunc(order, func(a, b *rspan) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.event.Name, b.event.Name), cmp.Compare(a.end, b.end))
	})
	w.spans = map[trace.SpanID][]*rspan{}
	attaches := attachesIn(order)
	for _, s := range order {
		up := by[s.parent]
		if up == nil && strings.HasPrefix(s.event.Name, pluginPrefix) {
			if up = attachOf(s, attaches, by); up != nil {
				s.end = max(min(s.end, up.end), s.start) // the parent waited for it; its end was observed late
			}
		}
		switch {
		case up == nil || up == s:
			w.spans[s.parent] = append(w.spans[s.parent], s)
		case !s.repeats(up):
			up.kids = append(up.kids, s)
		}
	}
	for _, s := range order {
		s.addNamespace()
	}
}

// sent has the spans that a runtime sent: below which calls, and whether there are layers.
type sent struct {
	below  map[trace.SpanID]bool
	layers [][2]int64
}

// spansOf finds the spans that the runtime sent.
func spansOf(own []trace.Record) (s sent) {
	for i := range own {
		e, ok := own[i].Event.(*trace.RuntimeSpan)
		if !ok || own[i].Observer != trace.ObserverRuntimeSpan {
			continue
		}
		if s.below == nil {
			s.below = map[trace.SpanID]bool{}
		}
		s.below[own[i].Parent] = true
		if e.Name == spanFetch || e.Name == spanUnpackAll {
			s.layers = append(s.layers, [2]int64{e.Start, e.Start + int64(e.Dur)})
		}
	}
	return s
}

// tells reports whether the runtime's spans also have what its events report, with more detail.
func (s sent) tells(r *trace.Record, e *trace.RuntimeSpan) bool {
	if r.Observer != trace.ObserverRuntimeEvents {
		return false
	}
	if e.Name != trace.SpanLayerArrived && e.Name != trace.SpanLayerUnpacked {
		return s.below[r.Parent]
	}
	return slices.ContainsFunc(s.layers, func(l [2]int64) bool { return l[0] <= e.Start+int64(e.Dur) && e.Start <= l[1] })
}

// repeats reports whether a span is the only request of its parent.
func (s *rspan) repeats(up *rspan) bool {
	return s.event.Name == spanRequest && s.event.Err == "" && (up.event.Name == spanFetch || up.event.Name == spanHandler)
}

// addNamespace adds the creation of the network namespace to a sandbox's span. containerd has no span for it, but an
// event just before, and the next span stores its path.
func (s *rspan) addNamespace() {
	at, err := time.ParseDuration(attr(s.event, "event.setup pod network"))
	if s.event.Name != spanSandbox || err != nil {
		return
	}
	next := slices.IndexFunc(s.kids, func(k *rspan) bool { return k.start >= s.start+at })
	if next < 0 || s.kids[next].event.Name != "metadata.sandbox.Update" {
		return
	}
	made := &rspan{parent: s.id, start: s.start + at, end: s.kids[next].start, event: &trace.RuntimeSpan{Name: spanNamespace}}
	s.kids = slices.Insert(s.kids, next, made)
}

// attachesIn returns the runtime's spans for networks, up to a limit.
func attachesIn(all []*rspan) (out []*rspan) {
	for _, s := range all {
		switch s.event.Name {
		case "cni.asynchAttach", "cni.attachNetworksSerially", "cni.Remove":
			if len(out) < maxAttach {
				out = append(out, s)
			}
		}
	}
	return out
}

// attachOf returns the runtime's span for the network of a CNI plugin's run: in the same call, for the same interface,
// and begun before. Nothing else connects the two.
func attachOf(plugin *rspan, all []*rspan, by map[trace.SpanID]*rspan) *rspan {
	for _, s := range all {
		if net := attr(s.event, "cni.ifname"); net != "" && net != attr(plugin.event, "cni.ifname") {
			continue
		}
		if plugin.start < s.start-spanSlack || plugin.start > s.end {
			continue
		}
		top := s
		for n := 0; by[top.parent] != nil && n < maxSpanDepth; n++ {
			top = by[top.parent]
		}
		if top.parent == plugin.parent {
			return s
		}
	}
	return nil
}

// under returns the spans directly below a call, and the correction of their times. A call includes the runtime's work;
// if the clocks say otherwise (the machine was suspended, or its clock was set), the spans are placed in the middle of
// the call.
func (w *Waterfall) under(call *interval) (tops []*rspan, shift time.Duration) {
	tops = w.spans[call.id]
	if len(tops) == 0 || call.open {
		return tops, 0
	}
	from, to := tops[0].start, tops[0].end
	for _, s := range tops {
		from, to = min(from, s.start), max(to, s.end)
	}
	if from < call.start-spanSlack || to > call.end+spanSlack {
		shift = (call.start+call.end)/2 - (from+to)/2
	}
	return tops, shift
}

// transparent reports whether a span adds nothing to its parent (whose duration is above) or its child.
func (s *rspan) transparent(above time.Duration) bool {
	if len(s.kids) == 0 {
		return false
	}
	if s.event.Name == spanUnpackAll || s.event.Name == spanSandbox || 20*s.dur() >= 19*above {
		return true
	}
	return slices.ContainsFunc(s.kids, func(k *rspan) bool {
		return 20*k.dur() >= 19*s.dur() && (s.event.Err == "" || k.event.Err != "")
	})
}

// failed reports whether the span or one below it failed.
func (s *rspan) failed(depth int) bool {
	return s.event.Err != "" || depth < maxSpanDepth && slices.ContainsFunc(s.kids, func(k *rspan) bool { return k.failed(depth + 1) })
}

// spanRows returns the rows of a call's spans, without tiny ones.
func (w *Waterfall) spanRows(call *interval) []Row {
	tops, shift := w.under(call)
	var rows []Row
	var visit func(spans []*rspan, above time.Duration, depth, level int)
	visit = func(spans []*rspan, above time.Duration, depth, level int) {
		for _, s := range spans {
			if level > maxSpanDepth || s.dur() < w.tiny() && !s.failed(level) {
				continue
			}
			if s.transparent(above) || sameAs(s, call) {
				visit(s.kids, above, depth, level+1)
				continue
			}
			label, detail := spanName(s.event)
			rows = append(rows, Row{
				Kind: RowSpan, Label: label, Detail: detail, Topic: topicOf(s.event), Depth: depth, Span: s.id, Err: s.event.Err, Note: spanNote(s.event),
				Start: min(max(s.start+shift, call.start), call.end), End: min(max(s.end+shift, call.start), call.end),
			})
			visit(s.kids, s.dur(), min(depth+1, 3), level+1)
		}
	}
	visit(tops, call.dur(), 2, 0)
	return longest(rows, maxSpanRows)
}

// sameAs reports whether a span is the runtime's own view of the call, with the same duration.
func sameAs(s *rspan, call *interval) bool {
	c, ok := call.call()
	return ok && s.event.Call() == c.Method && 10*s.dur() >= 9*call.dur()
}

// longest keeps the n longest rows and those that failed, in their order.
func longest(rows []Row, n int) []Row {
	if len(rows) <= n {
		return rows
	}
	durs := make([]time.Duration, len(rows))
	for i, r := range rows {
		durs[i] = r.Dur()
	}
	sorting.Stable(durs, func(a, b *time.Duration) int { return cmp.Compare(*b, *a) })
	least := durs[n-1]
	kept := rows[:0]
	for _, r := range rows {
		if r.Dur() >= least && len(kept) < n || r.Err != "" && len(kept) < 2*n {
			kept = append(kept, r)
		}
	}
	return kept
}

// dominant returns the runtime's work that makes up at least half of a call, with its duration; "" if there is none.
func (w *Waterfall) dominant(call *interval) (name string, took time.Duration) {
	by := map[string][]stretch{}
	var order []string
	var visit func(spans []*rspan, above time.Duration, level int)
	visit = func(spans []*rspan, above time.Duration, level int) {
		for _, s := range spans {
			if level > maxSpanDepth {
				return
			}
			if s.transparent(above) || sameAs(s, call) {
				visit(s.kids, above, level+1)
				continue
			}
			label, _ := spanName(s.event)
			if by[label] == nil {
				order = append(order, label)
			}
			by[label] = append(by[label], stretch{s.start, s.end})
			visit(s.kids, s.dur(), level+1)
		}
	}
	tops, _ := w.under(call)
	visit(tops, call.dur(), 0)
	fetch := union(append(slices.Clone(by[labelFetch]), by[labelArrived]...))
	for _, label := range order {
		d := length(union(by[label]))
		if label == labelUnpack { // a layer's unpacking includes the wait for its fetch
			d = length(union(append(slices.Clone(by[label]), fetch...))) - length(fetch)
		}
		if d > took {
			name, took = label, d
		}
	}
	if 2*took < call.dur() {
		return "", 0
	}
	return name, took
}

// stretch is an interval of time.
type stretch struct{ from, to time.Duration }

// union returns the intervals without overlaps, in order.
func union(in []stretch) []stretch {
	in = slices.Clone(in)
	sorting.Stable(in, func(a, b *stretch) int { return cmp.Compare(a.from, b.from) })
	var out []stretch
	for _, s := range in {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

func length(in []stretch) (d time.Duration) {
	for _, s := range in {
		d += s.to - s.from
	}
	return d
}
