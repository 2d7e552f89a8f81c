package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// lookBack is how long before a life verdicts and figures of the node still explain it, as an image that was removed.
	lookBack = 10 * time.Minute
	// longestFigures is the longest time that figures of the node are about.
	longestFigures = 11 * time.Second
	// maxCaseNode bounds how many records of the node and of other pods a case has.
	maxCaseNode = 50_000
)

// Case is what rules look at for a life; now is the time of the question, zero the newest record's.
func (s *Session) Case(l *Life, now time.Time) *cause.Case {
	if now.IsZero() {
		now = s.Last()
	}
	c := &cause.Case{Pod: l.Pod, Records: l.Records(), Now: l.at(now), Incomplete: l.Incomplete()}
	c.Fall, _ = l.fall(c.Records, now) // none where the pod was found running
	stage := c.Stage()
	from, to := l.interest(c.Now, stage == cause.Up || stage == cause.Over)
	if stage == cause.Up && c.Fall != nil {
		to = min(to, c.Fall.Origin.Add(c.Fall.End).UnixNano())
	}
	c.Node = s.leftOf(l, to, s.around(l, from, to))
	return c
}

// around are the records of the node and of other lives between two times, and some of the node's before.
func (s *Session) around(l *Life, from, to int64) []trace.Record {
	var found []*trace.Record
	take := func(r *trace.Record) {
		if len(found) < maxCaseNode {
			found = append(found, r)
		}
	}
	s.node.between(from, to, take)
	s.node.between(from-int64(lookBack), from-1, func(r *trace.Record) {
		if lasting(r.Event) {
			take(r)
		}
	})
	s.node.between(to+1, to+int64(longestFigures), func(r *trace.Record) {
		if u, ok := r.Event.(*trace.Usage); ok && r.Time-int64(u.Interval) < to {
			take(r) // it is told at the end of what it is about
		}
	})
	for _, o := range s.lives {
		if o == l || o.from > to || o.last < from && len(o.win.open) == 0 {
			continue
		}
		o.win.between(from, to, func(r *trace.Record) {
			if !private(r.Event) {
				take(r)
			}
		})
	}
	slices.SortFunc(found, func(a, b *trace.Record) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq)) })
	found = slices.CompactFunc(found, func(a, b *trace.Record) bool { return a == b || a.Seq == b.Seq && a.Seq != 0 })
	out := make([]trace.Record, len(found))
	for i, r := range found {
		out[i] = *r
	}
	return out
}

// private tells events of a pod that explain nothing of another.
func private(e trace.Event) bool {
	switch e.(type) {
	case *trace.Sync, *trace.Plan, *trace.Milestone, *trace.PodStatus, *trace.NodeEvent, *trace.StatusPatch, *trace.ProbeAttempt, *trace.RuntimeSpan:
		return true
	}
	return false
}

// lasting tells events that matter later from those that are over when they happen.
func lasting(e trace.Event) bool {
	switch e.(type) {
	case *trace.Decision, *trace.GC, *trace.Pressure, *trace.Agent, *trace.PLEGMode, *trace.NodeStatus:
		return true
	}
	return false
}
