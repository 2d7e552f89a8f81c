package waterfall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxSpanRows is how many of a call's spans are drawn, the longest.
	maxSpanRows = 24
	// maxSpanDepth bounds how deep spans are followed.
	maxSpanDepth = 32
	// spanSlack is how far a runtime's span may seem to lie outside of its call before the
	// two clocks are taken to differ.
	spanSlack = time.Millisecond
	// farthest is how far from the origin a runtime's span may seem to lie; more is as good as nonsense.
	farthest = 100 * 365 * 24 * time.Hour
	// maxAttach bounds the networks among which a plugin's is looked for; a pod has a few.
	maxAttach = 64
)

// rspan is a span that the runtime told of itself.
type rspan struct {
	id, parent trace.SpanID
	start, end time.Duration // since the origin, by the runtime's clock
	event      *trace.RuntimeSpan
	kids       []*rspan // in order of start
}

func (s *rspan) dur() time.Duration { return s.end - s.start }

// collectSpans links the runtime's spans with each other. They come in any order, late,
// and some not at all: what has no way up to a call is not drawn.
func (w *Waterfall) collectSpans(own []trace.Record) {
	by := map[trace.SpanID]*rspan{}
	var order []*rspan
	for i := range own {
		e, ok := own[i].Event.(*trace.RuntimeSpan)
		if !ok || by[own[i].Span] != nil {
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
				s.end = max(min(s.end, up.end), s.start) // it was waited for; its end is seen late
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

// repeats reports whether a span is the one request that the span above it consists of.
func (s *rspan) repeats(up *rspan) bool {
	return s.event.Name == spanRequest && s.event.Err == "" && (up.event.Name == spanFetch || up.event.Name == spanHandler)
}

// addNamespace adds the making of the network namespace to the span of a sandbox. containerd has
// no span for it, but an event right before, and the next thing with a span is storing its path.
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

// attachesIn are the runtime's spans for networks, the first of them.
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

// attachOf returns the runtime's span for the network that a CNI plugin was run for: of the
// same call and interface, and begun before. Nothing else links the two.
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

// under returns the spans directly below a call, and what to add to their times. A call
// encloses what the runtime did for it; where the clocks say otherwise (the machine slept,
// or its clock was set), the spans are put into the call's middle.
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

// transparent reports whether a span says nothing that the one above it (of length above)
// or one below it does not say.
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

// spanRows returns the rows of what the runtime told of a call, leaving out what is tiny.
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

// sameAs reports whether a span is the runtime's own view of the call, and took as long.
func sameAs(s *rspan, call *interval) bool {
	c, ok := call.call()
	return ok && strings.HasSuffix(s.event.Name, "/"+c.Method) && 10*s.dur() >= 9*call.dur()
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
	slices.SortFunc(durs, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	least := durs[n-1]
	kept := rows[:0]
	for _, r := range rows {
		if r.Dur() >= least && len(kept) < n || r.Err != "" && len(kept) < 2*n {
			kept = append(kept, r)
		}
	}
	return kept
}

// dominant returns what of the runtime's work makes up at least half of a call, by name, and
// how long it took; "" when nothing does.
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
	fetch := union(by[labelFetch])
	for _, label := range order {
		d := length(union(by[label]))
		if label == labelUnpack { // a layer's unpacking begins with the wait for its fetch
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

// stretch is a piece of time.
type stretch struct{ from, to time.Duration }

// union returns the pieces without overlaps, in order.
func union(in []stretch) []stretch {
	in = slices.Clone(in)
	slices.SortFunc(in, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
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
