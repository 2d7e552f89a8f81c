package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// stretch is a piece of time.
type stretch struct{ from, to time.Time }

// covered is how much time stretches cover; what several cover counts once.
func covered(all []stretch) (sum time.Duration) {
	all = slices.Clone(all)
	sorting.Stable(all, func(a, b *stretch) int { return a.from.Compare(b.from) })
	var until time.Time
	for _, s := range all {
		if s.from.Before(until) {
			s.from = until
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			until = s.to
		}
	}
	return sum
}

// coveredBut is how much time some stretches cover and none of the others.
func coveredBut(some, others []stretch) time.Duration {
	return covered(slices.Concat(some, others)) - covered(others)
}

// without returns the parts of some stretches that none of the others covers.
func without(some, others []stretch) []stretch {
	for _, o := range others {
		var left []stretch
		for _, s := range some {
			for _, part := range []stretch{{s.from, earlierOf(s.to, o.from)}, {laterOf(s.from, o.to), s.to}} {
				if part.to.After(part.from) {
					left = append(left, part)
				}
			}
		}
		some = left
	}
	return some
}

// clip returns the part of [from, to] that lies in each of all.
func clip(all []stretch, from, to time.Time) (out []stretch) {
	for _, s := range all {
		s = stretch{laterOf(s.from, from), earlierOf(s.to, to)}
		if s.to.After(s.from) {
			out = append(out, s)
		}
	}
	return out
}

// pathStretches are the parts of the critical path that are of the wanted sort.
func (c *Case) pathStretches(wanted func(waterfall.Segment) bool) (out []stretch) {
	for _, s := range c.path() {
		if wanted(s) {
			out = append(out, stretch{c.Waterfall.Origin.Add(s.Start), c.Waterfall.Origin.Add(s.End)})
		}
	}
	return out
}

// on is which parts of [from, to] the critical path spent in the span, as cost counts them.
func (c *Case) on(span trace.SpanID, from, to time.Time) []stretch {
	return without(clip(c.stretchesOf(c.related(span)), from, to), c.stopped())
}

// stretchesOf are the times of segments.
func (c *Case) stretchesOf(segments []waterfall.Segment) (out []stretch) {
	for _, s := range segments {
		out = append(out, stretch{c.Waterfall.Origin.Add(s.Start), c.Waterfall.Origin.Add(s.End)})
	}
	return out
}

// endStretch is the time in which the pod ended, or has been ending; nothing where it does not.
func (c *Case) endStretch() []stretch {
	begin := c.milestone(trace.MilestoneTerminating)
	if begin == nil {
		return nil
	}
	end := c.Now
	if gone := c.milestone(trace.MilestoneGone); gone != nil {
		end = gone.At()
	} else if rests := c.Rests(); !rests.IsZero() {
		end = rests
	}
	return []stretch{{begin.At(), end}}
}

func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// toTell are the pod's waits for the runtime to tell of what it did, by their spans.
func (c *Case) toTell() map[trace.SpanID]bool {
	if c.memo.tells != nil {
		return c.memo.tells
	}
	out := map[trace.SpanID]bool{}
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		if waits[i].Event.For == trace.WaitRuntime && waits[i].Event.Target.Kind == trace.TargetLatestAction {
			out[waits[i].ID()] = true
		}
	}
	c.memo.tells = out
	return out
}

// part is what a cost may be part of: the pod's start or its end.
type part struct {
	at    []stretch
	whole time.Duration
	// end is whole where it is the end; else 0.
	end time.Duration
}

// parts are the stretches of the start that are given, and the pod's end. They are reported apart: a share of both together says nothing.
func (c *Case) parts(start []stretch) []part {
	end := c.endStretch()
	took := covered(end)
	return []part{{at: start, whole: c.length()}, {at: end, whole: took, end: took}}
}

// worth reports whether a cost is worth a word.
func (p *part) worth(cost time.Duration) bool {
	return cost >= leastCost && 100*cost >= leastShare*p.whole
}
