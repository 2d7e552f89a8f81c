package otlp

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxAnchors is how many spans of calls wait until they are on the bus, anchorTime how long they wait: records come some seconds late.
	maxAnchors = 1024
	anchorTime = 30 * time.Second
	// oldest is how long ago a span may have ended: senders try again for about a minute.
	oldest = 5 * time.Minute
)

// mutating are the calls that other observers, too, tell of; List calls and the like are not, so what is below them waits for nothing.
var mutating = []string{
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "PullImage",
}

// adopter passes on the spans of a kubelet that is not ours, and of its runtime: those of syncs and of calls. Which call a span is of is found
// where the records of all observers are merged. Then it comes back by the bus, and the spans below it are placed.
type adopter struct {
	put     func(trace.Record)
	anchors map[trace.SpanID]key // spans of calls that were passed on
	order   []anchor             // of them, the oldest first
}

type anchor struct {
	key   key
	until time.Time
}

func newAdopter(put func(trace.Record)) *adopter {
	return &adopter{put: put, anchors: map[trace.SpanID]key{}}
}

// adopt is add for spans of other callers than us.
func (t *tree) adopt(s span) (ready []span, v verdict, refused []verdict) {
	_, again := t.told.get(s.key())
	if _, anchored := t.foreign.anchors[s.id]; again || anchored || t.waiting.ids[s.key()] {
		return nil, repeated, nil
	}
	if ago := t.now().Sub(time.Unix(0, s.event.Start).Add(s.event.Dur)); ago < -slack || ago > oldest {
		return nil, foreign, nil
	}
	if r, ok := workOf(&s); ok {
		t.foreign.put(r)
		t.ignore(s.key())
		return nil, passed, nil
	}
	s.event.Attrs = append(slices.Clone(s.event.Attrs), trace.KV{K: trace.AttrTrace, V: s.trace.String()}) // the records of all observers have another one
	method := s.event.Call()
	if slices.Contains(mutating, method) {
		e := s.event
		e.Attrs = t.subject(&s)
		t.anchor(s.key())
		t.foreign.put(trace.Record{
			Time: e.Start + int64(e.Dur), Span: s.id, Parent: s.parent, Observer: s.observer, Event: &e,
		})
		return nil, held, nil
	}
	switch c, known := t.told.get(key{s.trace, s.parent}); {
	case c != nil:
		return t.below(s, c)
	case method != "" || s.parent == 0 || known: // it belongs to no call of a pod
		t.ignore(s.key())
		return nil, foreign, nil
	}
	t.waiting.hold(s)
	return nil, held, nil
}

// anchor notes that a span was passed on. The oldest is given up where there are too many.
func (t *tree) anchor(k key) {
	t.foreign.anchors[k.span] = k
	t.foreign.order = append(t.foreign.order, anchor{k, t.now().Add(anchorTime)})
	if len(t.foreign.order) > maxAnchors {
		t.giveUp(1)
	}
}

// giveUp forgets the n oldest spans of calls that were passed on, and what waits for them, unless they came back.
func (t *tree) giveUp(n int) {
	for _, a := range t.foreign.order[:n] {
		if _, waits := t.foreign.anchors[a.key.span]; waits {
			delete(t.foreign.anchors, a.key.span)
			t.ignore(a.key)
		}
	}
	t.foreign.order = slices.Delete(t.foreign.order, 0, n)
}

// ignore notes a span below which nothing is placed, and forgets what waits for it.
func (t *tree) ignore(k key) {
	t.told.put(k, nil)
	t.forsake(k, 0)
}

// forsake forgets those that wait below a span that belongs to no call.
func (t *tree) forsake(above key, depth int) {
	if depth > 64 {
		return
	}
	for _, s := range t.waiting.take(above) {
		t.forsake(s.key(), depth+1)
	}
}

// followForeign takes in the spans of calls that came back with their pods. It returns what waited below them.
func (t *tree) followForeign(recs []trace.Record) (ready []span) {
	for i := range recs {
		r := &recs[i]
		e, ok := r.Event.(*trace.RuntimeSpan)
		if !ok {
			continue
		}
		k, ok := t.foreign.anchors[r.Span]
		if !ok {
			continue
		}
		delete(t.foreign.anchors, r.Span)
		c := &call{trace: r.Trace, span: r.Span, pod: r.Pod, begin: e.Start, end: e.Start + int64(e.Dur), grace: slack}
		if e.Err != "" {
			c.grace = afterwards
		}
		t.told.put(k, c)
		more, _ := t.waited(k, c)
		ready = append(ready, more...)
	}
	n, now := 0, t.now()
	for n < len(t.foreign.order) && now.After(t.foreign.order[n].until) {
		n++
	}
	t.giveUp(n)
	return ready
}

// subject are a span's attributes, with the ids of the sandbox and the container that it is about, by itself or by those right below it.
func (t *tree) subject(s *span) []trace.KV {
	attrs := slices.Clone(s.event.Attrs)
	for i := range t.waiting.below[s.key()] {
		sub := &t.waiting.below[s.key()][i]
		if sub.event.Name != "cri.sandbox.run" {
			continue
		}
		for _, a := range sub.event.Attrs {
			if a.K == trace.AttrSandbox && !slices.ContainsFunc(attrs, func(b trace.KV) bool { return b.K == a.K }) {
				attrs = append(attrs, a)
			}
		}
	}
	return attrs
}
