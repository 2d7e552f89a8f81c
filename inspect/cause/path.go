package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// What a rule speaks of takes at least leastCost, and leastShare percent of the critical path; less is not worth a person's time.
const (
	leastCost  = 10 * time.Millisecond
	leastShare = 5
)

// maxUp bounds the walk from a span to its root.
const maxUp = 64

// path is the critical path to started and on to ready; nil where the start was not seen.
func (c *Case) path() []waterfall.Segment {
	if c.Waterfall == nil {
		return nil
	}
	if !c.memo.pathKnown {
		c.memo.path, c.memo.pathKnown = slices.Concat(c.Waterfall.Path, c.Waterfall.Tail), true
	}
	return c.memo.path
}

// length is how long the critical path is; the pod's time so far where it has not come up.
func (c *Case) length() time.Duration {
	if c.Waterfall == nil {
		return 0
	}
	return max(c.Waterfall.Length(), c.Waterfall.Ready)
}

// cost is how much of [from, to] the critical path spent in the span: in itself, in what it is part of, or in a part of it. The time in
// which the agent was stopped is KL40's.
func (c *Case) cost(span trace.SpanID, from, to time.Time) (cost time.Duration) {
	if c.Waterfall == nil {
		return 0
	}
	for _, s := range clip(c.stretchesOf(c.related(span)), from, to) {
		cost += c.running(s.from, s.to)
	}
	return cost
}

// related are the segments of the critical path that are a span, part of it, or what it is part of.
func (c *Case) related(span trace.SpanID) (out []waterfall.Segment) {
	path := c.path()
	if c.memo.at == nil {
		c.memo.at, c.memo.below = map[trace.SpanID][]int{}, map[trace.SpanID][]int{}
		for i, s := range path {
			if id := s.Span(); id != 0 {
				c.memo.at[id] = append(c.memo.at[id], i)
				above(c.parents(), id, func(up trace.SpanID) { c.memo.below[up] = append(c.memo.below[up], i) })
			}
		}
	}
	found := slices.Clone(c.memo.at[span])
	found = append(found, c.memo.below[span]...)
	above(c.parents(), span, func(up trace.SpanID) { found = append(found, c.memo.at[up]...) })
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		out = append(out, path[i])
	}
	return out
}

// above calls f for each span that one is part of, and not for that one.
func above(ups ups, span trace.SpanID, f func(trace.SpanID)) {
	self := span
	for range maxUp - 1 {
		up, ok := ups[span]
		if !ok || up == self {
			return
		}
		f(up)
		span = up
	}
}

// within reports whether span is outer or part of it.
func within(ups map[trace.SpanID]trace.SpanID, span, outer trace.SpanID) bool {
	for range maxUp {
		if span == outer {
			return true
		}
		up, ok := ups[span]
		if !ok {
			return false
		}
		span = up
	}
	return false
}

// parents returns the parent of each of the pod's spans.
func (c *Case) parents() map[trace.SpanID]trace.SpanID {
	if c.memo.own == nil {
		c.memo.own = parentsIn(c.recordsOf(true))
	}
	return c.memo.own
}

// nodeParents returns the parent of each of the node's spans, and of those of other pods.
func (c *Case) nodeParents() map[trace.SpanID]trace.SpanID {
	if c.memo.node == nil {
		c.memo.node = parentsIn(c.recordsOf(false))
	}
	return c.memo.node
}

func parentsIn(recs []*trace.Record) ups {
	out := ups{}
	for _, r := range recs {
		if r.Parent != 0 && r.Parent != r.Span {
			out[r.Span] = r.Parent
		}
	}
	return out
}

// material reports whether a cost on the critical path is worth a word.
func (c *Case) material(cost time.Duration) bool {
	return cost >= leastCost && 100*cost >= leastShare*c.length()
}

// up reports whether the pod has come up: it is ready, or has started where nobody says more; or it was found running.
func (c *Case) up() bool {
	if c.Waterfall == nil {
		return c.milestone(trace.MilestoneStarted) != nil || c.milestone(trace.MilestoneReady) != nil
	}
	return c.Waterfall.Ready >= 0
}

// milestone is the record of the pod's first milestone of that name; nil while it has not got there.
func (c *Case) milestone(name trace.MilestoneName) *trace.Record {
	for i := range c.Records {
		if m, ok := c.Records[i].Event.(*trace.Milestone); ok && m.Name == name {
			return &c.Records[i]
		}
	}
	return nil
}

// ending reports when the pod began to end; false when it does not, or has ended.
func (c *Case) ending() (since time.Time, yes bool) {
	r := c.milestone(trace.MilestoneTerminating)
	if r == nil || c.milestone(trace.MilestoneGone) != nil || !c.Rests().IsZero() {
		return time.Time{}, false
	}
	return r.At(), true
}
