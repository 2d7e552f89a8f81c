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
	if c.Fall == nil {
		return nil
	}
	return slices.Concat(c.Fall.Path, c.Fall.Tail)
}

// length is how long the critical path is; the pod's time so far where it has not come up.
func (c *Case) length() time.Duration {
	if c.Fall == nil {
		return 0
	}
	return max(c.Fall.Length(), c.Fall.Ready)
}

// segmentCost is how much of [from, to] lies on those segments of the critical path that are of the wanted sort.
func (c *Case) segmentCost(from, to time.Time, wanted func(waterfall.Segment) bool) (cost time.Duration) {
	if c.Fall == nil {
		return 0
	}
	a, b := from.Sub(c.Fall.Origin), to.Sub(c.Fall.Origin)
	for _, s := range c.path() {
		if wanted(s) {
			cost += max(min(b, s.End)-max(a, s.Start), 0)
		}
	}
	return cost
}

// cost is how much of [from, to] the critical path spent in the span: in itself, in what it is part of, or in a part of it.
func (c *Case) cost(span trace.SpanID, from, to time.Time) time.Duration {
	ups := c.parents()
	return c.segmentCost(from, to, func(s waterfall.Segment) bool {
		on := s.Span()
		return on != 0 && (within(ups, span, on) || within(ups, on, span))
	})
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
	if c.ups == nil {
		c.ups = map[trace.SpanID]trace.SpanID{}
		for i := range c.Records {
			if r := &c.Records[i]; r.Parent != 0 && r.Parent != r.Span {
				c.ups[r.Span] = r.Parent
			}
		}
	}
	return c.ups
}

// material reports whether a cost on the critical path is worth a word.
func (c *Case) material(cost time.Duration) bool {
	return cost >= leastCost && 100*cost >= leastShare*c.length()
}

// up reports whether the pod has come up: it is ready, or has started where nobody says more; or it was found running.
func (c *Case) up() bool {
	if c.Fall == nil {
		return c.milestone("started") != nil || c.milestone("ready") != nil
	}
	return c.Fall.Ready >= 0
}

// milestone is the record of the pod's first milestone of that name; nil while it has not got there.
func (c *Case) milestone(name string) *trace.Record {
	for i := range c.Records {
		if m, ok := c.Records[i].Event.(*trace.Milestone); ok && m.Name == name {
			return &c.Records[i]
		}
	}
	return nil
}

// ending reports when the pod began to end; false when it does not, or has ended.
func (c *Case) ending() (since time.Time, yes bool) {
	r := c.milestone("terminating")
	if r == nil || c.milestone("gone") != nil || !c.Rests().IsZero() {
		return time.Time{}, false
	}
	return r.At(), true
}
