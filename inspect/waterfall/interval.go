package waterfall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

// interval is one begin/end pair of the pod.
type interval struct {
	id, parent trace.SpanID
	start, end time.Duration // since the origin
	open       bool          // not ended
	begin, fin trace.Event   // the events of begin and end; either may be nil
	kids       []*interval   // in order of start
	up         *interval     // the nearest known enclosing interval
	sync       trace.SpanID  // its sync; 0 if unknown
	act        *trace.Action // its action in the plan, nil if there is none; known when all intervals are
	asked      bool          // a gate was asked in it
	progress   *trace.ImageProgress
	chown      *trace.VolumeProgress
}

func (iv *interval) dur() time.Duration { return iv.end - iv.start }

// began returns when an interval began, in Unix nanoseconds.
func (w *Waterfall) began(iv *interval) int64 { return w.t0 + int64(iv.start) }

// event returns the best known event: the end's, otherwise the begin's.
func (iv *interval) event() trace.Event {
	if iv.fin != nil {
		return iv.fin
	}
	return iv.begin
}

func (iv *interval) action() (trace.Action, bool) {
	if iv.act == nil {
		return trace.Action{}, false
	}
	return *iv.act, true
}

// actionOf combines the action of a begin and an end; nil if it is none.
func actionOf(begin, fin trace.Event) *trace.Action {
	b, _ := begin.(*trace.Action)
	e, _ := fin.(*trace.Action)
	switch {
	case b == nil:
		return e
	case e == nil:
		return b
	}
	a := *e
	a.ID, a.Verb, a.Container = cmp.Or(a.ID, b.ID), cmp.Or(a.Verb, b.Verb), cmp.Or(a.Container, b.Container)
	a.Target, a.Reason = cmp.Or(a.Target, b.Target), cmp.Or(a.Reason, b.Reason)
	return &a
}

func (iv *interval) wait() (*trace.Wait, bool) {
	w, ok := iv.event().(*trace.Wait)
	return w, ok
}

// gated reports whether a gate was asked before the action: then the actions of its plan run one by one, in the plan's
// order.
func (iv *interval) gated() bool { return iv.asked }

func (iv *interval) call() (*trace.CRICall, bool) {
	c, ok := iv.event().(*trace.CRICall)
	return c, ok
}

// err returns its error, "" if there is none.
func (iv *interval) err() string { return trace.Failure(iv.fin) }

// within visits all intervals below iv. None has more than maxDepth parents, and none is its own parent.
func (iv *interval) within(f func(*interval)) {
	for _, k := range iv.kids {
		f(k)
		k.within(f)
	}
}

// maxDepth limits the nesting of intervals: a recording's author chooses the parents.
const maxDepth = 64

// overlaps reports whether a part of iv is in (from, to), or iv is an instant in it.
func (iv *interval) overlaps(from, to time.Duration) bool { return iv.start < to && iv.end > from }

// collect pairs begins with ends and connects parents with children.
func (w *Waterfall) collect(own []trace.Record) {
	begins := 0
	for i := range own {
		if own[i].Edge == trace.EdgeBegin {
			begins++
		}
	}
	by := pair.NewList[interval](begins)
	for i := range own {
		r := &own[i]
		if r.Edge == trace.EdgePoint || time.Duration(r.Start()-w.t0) > w.End { // after the start: a restart, or the pod's termination
			continue
		}
		iv, fresh := by.Of(r)
		if fresh {
			*iv = interval{id: r.Span, parent: r.Parent, start: w.rel(r.Start()), end: w.End, open: true}
		}
		if r.Edge == trace.EdgeEnd {
			iv.end, iv.open, iv.fin = w.rel(r.Time), false, r.Event
		} else if iv.begin == nil {
			iv.begin = r.Event
		}
	}
	for i := range own {
		switch p := own[i].Event.(type) {
		case *trace.ImageProgress:
			if iv := by.Get(own[i].Parent); iv != nil {
				iv.progress = p
			}
		case *trace.VolumeProgress:
			if iv := by.Get(own[i].Parent); iv != nil {
				iv.chown = p
			}
		}
	}
	w.ivs = slices.SortedStableFunc(slices.Values(by.All), func(a, b *interval) int { return cmp.Compare(a.start, b.start) })
	w.link(by.Get)
	w.standIns()
}

func (w *Waterfall) link(by func(trace.SpanID) *interval) {
	for _, iv := range w.ivs {
		iv.end, iv.act = max(iv.end, iv.start), actionOf(iv.begin, iv.fin)
		if up := by(iv.parent); up != nil && up != iv {
			iv.up = up
		}
	}
	for _, iv := range w.ivs {
		if iv.up != nil && !iv.up.below(maxDepth) {
			iv.up = nil
		}
	}
	for _, iv := range w.ivs {
		if iv.up != nil {
			iv.up.kids = append(iv.up.kids, iv)
		}
		for up := iv; up != nil && iv.sync == 0; up = up.up {
			if _, ok := up.event().(*trace.Sync); ok {
				iv.sync = up.id
			}
		}
		if e, ok := iv.wait(); ok && e.For == trace.WaitGate {
			for up := iv.up; up != nil; up = up.up {
				up.asked = true
			}
		}
	}
}

// Stepped reports whether a person held the start: a gate was asked before one of its actions.
func (w *Waterfall) Stepped() bool {
	return slices.ContainsFunc(w.ivs, func(iv *interval) bool {
		e, ok := iv.wait()
		return ok && e.For == trace.WaitGate && (iv.open || iv.dur() > 0)
	})
}

// below reports whether an interval has a root, at most n levels above it.
func (iv *interval) below(n int) bool {
	for range n {
		if iv = iv.up; iv == nil {
			return true
		}
	}
	return false
}

// standIns adds actions to a stream without them (for example another kubelet's), from the CRI calls that start a pod.
func (w *Waterfall) standIns() {
	if slices.ContainsFunc(w.ivs, func(iv *interval) bool { _, ok := iv.action(); return ok }) {
		return
	}
	verbs := map[string]trace.Verb{
		"RunPodSandbox": trace.VerbSandbox, "PullImage": trace.VerbImage, "CreateContainer": trace.VerbCreate, "StartContainer": trace.VerbStart,
	}
	for _, iv := range slices.Clone(w.ivs) {
		c, ok := iv.call()
		if !ok || verbs[c.Method] == "" {
			continue
		}
		verb, target := verbs[c.Method], cmp.Or(c.Image, c.Container, c.Sandbox)
		a := &trace.Action{ID: strings.TrimSpace(string(verb) + " " + short(target)), Verb: verb, Target: target, Err: iv.err()}
		in := &interval{start: iv.start, end: iv.end, open: iv.open, begin: a, act: a, asked: iv.asked, kids: []*interval{iv}, sync: iv.sync, up: iv.up}
		if !iv.open {
			in.fin = a
		}
		iv.up = in
		w.ivs = append(w.ivs, in)
	}
	slices.SortStableFunc(w.ivs, func(a, b *interval) int { return cmp.Compare(a.start, b.start) })
}

func (w *Waterfall) rel(ns int64) time.Duration {
	return min(max(time.Duration(ns-w.t0), 0), w.End)
}

// short cuts a hexadecimal ID to 12 digits; other text is unchanged.
func short(s string) string {
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return s
	}
	return s[:12]
}
