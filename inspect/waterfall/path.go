package waterfall

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxSteps limits the walk: a start has far fewer actions.
const maxSteps = 1000

// slack returns the maximum gap before an action that needs no explanation.
func (w *Waterfall) slack() time.Duration { return max(w.End/500, 500*time.Microsecond) }

// findPath walks backwards from started (or from the end, while the pod has not
// started), and from ready to started.
func (w *Waterfall) findPath(needs map[string]map[string]bool) {
	target, isStart := w.End, func(*interval) bool { return true }
	if w.Started >= 0 {
		target = w.Started
		isStart = func(iv *interval) bool {
			a, _ := iv.action()
			return a.Verb == trace.VerbStart || a.Verb == trace.VerbPostStart
		}
	}
	w.Path = w.walk(target, 0, isStart, needs, false)
	if w.Ready > w.Started && w.Started >= 0 {
		w.Tail = w.walk(w.Ready, w.Started, nil, needs, true)
	}
	w.totals()
}

// walk returns the path from floor to target. last selects the actions that may end it; probes says whether waits for
// probes count.
func (w *Waterfall) walk(target, floor time.Duration, last func(*interval) bool, needs map[string]map[string]bool, probes bool) []Segment {
	var back []Segment
	cur, before := target, w.predecessors(nil, last, needs)
	for range maxSteps {
		if cur <= floor {
			break
		}
		next, stop := latest(before, cur), floor
		if next != nil {
			stop = max(min(next.end, cur), floor)
		}
		if wait := w.waitIn(stop, cur, probes); wait != nil {
			end, start := min(wait.end, cur), max(wait.start, floor)
			back = append(back, unexplained(end, cur), waitSegment(wait, start, end))
			w.onPath[wait] = true
			if cur = start; start < stop {
				before = w.endedBy(start) // the wait ended after next did, so it counts
			}
			continue
		}
		back = append(back, unexplained(stop, cur))
		if next == nil || next.end <= floor {
			break
		}
		start := max(next.start, floor)
		back = append(back, w.inside(next, start, stop)...)
		w.onPath[next] = true
		cur, before = start, w.predecessors(next, nil, needs)
	}
	slices.Reverse(back)
	return merge(back)
}

// waitIn returns which of the pod's own waits ended last in the gap (from, to); nil if there is none, or the gap is too
// small.
func (w *Waterfall) waitIn(from, to time.Duration, probes bool) *interval {
	if to-from <= w.slack() {
		return nil
	}
	return latest(w.podWaits(from, to, probes), to)
}

// endedBy returns the actions that had ended at that time.
func (w *Waterfall) endedBy(at time.Duration) []*interval {
	var out []*interval
	for _, iv := range w.ivs {
		if _, ok := iv.action(); ok && !iv.open && iv.end <= at {
			out = append(out, iv)
		}
	}
	return out
}

// predecessors returns the actions that of may have waited for; for nil, those that last selects (all if it selects
// none).
func (w *Waterfall) predecessors(of *interval, last func(*interval) bool, needs map[string]map[string]bool) []*interval {
	var all, some []*interval
	var self trace.Action
	if of != nil {
		self, _ = of.action()
	}
	wanted, planned := needs[self.ID]
	inLine := of != nil && w.inLine(of)
	for _, iv := range w.ivs {
		a, ok := iv.action()
		if !ok || iv == of || (of != nil && iv.start >= of.start) {
			continue
		}
		all = append(all, iv)
		switch {
		case of == nil:
			if last != nil && last(iv) {
				some = append(some, iv)
			}
		case wanted[a.ID], a.ID == self.ID, of.sync != 0 && iv.sync != 0 && iv.sync != of.sync:
			some = append(some, iv)
		case inLine && !iv.open && iv.end <= of.start:
			some = append(some, iv)
		}
	}
	if (of == nil && len(some) == 0) || (of != nil && !planned) {
		return all
	}
	return some
}

// inLine reports whether actions run one after the other: in a step session, all actions of the sync do, including
// those after the gate was opened.
func (w *Waterfall) inLine(of *interval) bool {
	return of.gated() || of.sync != 0 && slices.ContainsFunc(w.ivs, func(iv *interval) bool {
		_, ok := iv.action()
		return ok && iv.sync == of.sync && iv.gated()
	})
}

// latest returns the interval that ended last of those that began before cur. One that still ran then counts as ending
// there; of several, those that never ended come first, then the one that began last.
func latest(of []*interval, cur time.Duration) *interval {
	var best *interval
	for _, iv := range of {
		if iv.start >= cur {
			continue
		}
		if best == nil || later(iv, best, cur) {
			best = iv
		}
	}
	return best
}

func later(a, b *interval, cur time.Duration) bool {
	endA, endB := min(a.end, cur), min(b.end, cur)
	switch {
	case endA != endB:
		return endA > endB
	case a.open != b.open:
		return a.open
	}
	return a.start > b.start
}

// podWaits returns the waits that overlap (from, to) and are not part of an action; with probes also their attempts.
func (w *Waterfall) podWaits(from, to time.Duration, probes bool) []*interval {
	var out []*interval
	for _, iv := range w.ivs {
		if a, ok := iv.event().(*trace.ProbeAttempt); ok && probes && a.Probe != trace.ProbeLiveness && iv.overlaps(from, to) {
			out = append(out, iv)
			continue
		}
		e, ok := iv.wait()
		if !ok || !iv.overlaps(from, to) || (e.For == trace.WaitProbe && !probes) || AboutStatus(e) || iv.owner() != nil {
			continue
		}
		if e.For == trace.WaitProbe && e.Target.Name == string(trace.ProbeLiveness) {
			continue // nothing waits for this one
		}
		out = append(out, iv)
	}
	return out
}

// owner returns the action of iv, nil if there is none.
func (iv *interval) owner() *interval {
	for up := iv.up; up != nil; up = up.up {
		if _, ok := up.action(); ok {
			return up
		}
	}
	return nil
}

// inside splits an action's part (from, to) of the path into waits and work, backwards.
func (w *Waterfall) inside(a *interval, from, to time.Duration) []Segment {
	var waits []*interval
	a.within(func(iv *interval) {
		if _, ok := iv.wait(); ok && iv.overlaps(from, to) {
			waits = append(waits, iv)
		}
	})
	part := a.part()
	work := func(from, to time.Duration) Segment {
		return Segment{Part: part, Start: from, End: to, iv: a}
	}
	var out []Segment
	for cur := to; cur > from; {
		best := latest(waits, cur)
		if best == nil || best.end <= from {
			return append(out, work(from, cur))
		}
		if end := min(best.end, cur); end < cur {
			out = append(out, work(end, cur))
			cur = end
		}
		start := max(best.start, from)
		out = append(out, waitSegment(best, start, cur))
		w.onPath[best] = true
		cur = start
	}
	return out
}

// pull returns the pull or PullImage call of an action, nil if there is none.
func (iv *interval) pull() *interval {
	var pull, call *interval
	iv.within(func(k *interval) {
		switch e := k.event().(type) {
		case *trace.ImagePull:
			pull = k
		case *trace.CRICall:
			if e.Method == "PullImage" {
				call = k
			}
		}
	})
	if pull != nil {
		return pull
	}
	return call
}

func unexplained(from, to time.Duration) Segment {
	return Segment{Part: Part{Kind: SegmentUnexplained}, Start: from, End: to}
}

func waitSegment(iv *interval, from, to time.Duration) Segment {
	if p, ok := iv.event().(*trace.ProbeAttempt); ok {
		return Segment{Part: Part{Kind: SegmentWork, Probe: string(p.Probe)}, Start: from, End: to, iv: iv}
	}
	e, _ := iv.wait()
	return Segment{Part: Part{Kind: SegmentWait, Wait: e.For}, Start: from, End: to, iv: iv}
}

// merge joins neighbors of the same part and removes empty segments.
func merge(in []Segment) []Segment {
	out := in[:0]
	for _, s := range in {
		if s.End <= s.Start {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Part == s.Part && out[n-1].iv == s.iv {
			out[n-1].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

// floor adds up what the runtime needed: the last sandbox, and the creates and starts on the path.
func (w *Waterfall) floor() {
	methods := map[trace.Verb]string{trace.VerbSandbox: "RunPodSandbox", trace.VerbCreate: "CreateContainer", trace.VerbStart: "StartContainer"}
	best := map[string]time.Duration{} // the last successful call for each object
	for _, iv := range w.ivs {
		a, ok := iv.action()
		if !ok || iv.err() != "" || iv.open {
			continue
		}
		method := methods[a.Verb]
		if method == "" || (a.Verb != trace.VerbSandbox && !w.onPath[iv]) {
			continue
		}
		iv.within(func(k *interval) {
			if c, ok := k.call(); ok && c.Method == method && !k.open && k.err() == "" {
				best[a.ID] = k.dur()
			}
		})
	}
	for _, d := range best {
		w.Floor += d
	}
}
