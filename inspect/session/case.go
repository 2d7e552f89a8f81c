package session

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxCaseNode limits how many records of the node and of other pods a case has.
	maxCaseNode = 50_000
	// leastCaseNode is how many each case may have, even if all together already have [Options.Others].
	leastCaseNode = 500
	// looksPerRecord is how many records may be inspected for each one that a case may have.
	looksPerRecord = 8
)

// Case returns the input of the rules for a run; now is the current time, zero means the newest record's.
func (s *Session) Case(l *store.PodRun, now time.Time) *cause.Case {
	c, _ := s.caseOf(l, now, maxCaseNode)
	return c
}

// Cases yields the case of each run, in their order. If all runs overlap with all others, each gets a part of the
// others' records, and is incomplete: otherwise n runs would need n times n records.
func (s *Session) Cases(now time.Time) iter.Seq2[*store.PodRun, *cause.Case] {
	return func(yield func(*store.PodRun, *cause.Case) bool) {
		left, runs := s.others, s.Runs()
		for i, l := range runs {
			// One run may take several parts, because most take less than one.
			limit := min(maxCaseNode, max(leastCaseNode, 8*left/(len(runs)-i)))
			c, took := s.caseOf(l, now, limit)
			left = max(left-took, 0)
			if !yield(l, c) {
				return
			}
		}
	}
}

// caseOf is Case with that many records of others. It also returns how many it used.
func (s *Session) caseOf(l *store.PodRun, now time.Time, limit int) (_ *cause.Case, took int) {
	if now.IsZero() {
		now = s.Last()
	}
	c := &cause.Case{Pod: l.Pod, Records: l.Records(), Now: l.At(now), Incomplete: l.Incomplete()}
	c.Waterfall, _ = l.WaterfallOf(c.Records, now) // none if the pod was found running
	at := l.Interest(c.Now)
	if last := &at[len(at)-1]; c.Waterfall != nil && c.Stage() == cause.Up {
		last.To = min(last.To, c.Waterfall.Origin.Add(c.Waterfall.End).UnixNano())
	}
	node, looked, all := s.around(l, at, limit)
	if r := s.Left(l.Pod.UID); r != nil && l.Pod.UID != "" && r.Time > at[len(at)-1].To {
		node = append(node, &r.Record)
	}
	c.Node, c.Incomplete = node, c.Incomplete || !all
	return c, max(len(node), looked/looksPerRecord)
}

// around returns the records of the node and of other runs at some times, and some of the node's before; false if there
// are more.
func (s *Session) around(l *store.PodRun, at []evidence.Interval, limit int) (_ []*trace.Record, looked int, all bool) {
	var found []*store.Item
	look := func() bool { looked++; return looked <= looksPerRecord*limit } // inspecting records without using them also takes time
	take := func(r *store.Item) bool {
		if len(found) == limit || !look() {
			return false
		}
		found = append(found, r)
		return true
	}
	all = true
	for _, i := range at {
		all = all && s.fromNode(i.From, i.To, take, look) && s.fromOthers(l, i.From, i.To, take, look)
	}
	slices.SortFunc(found, func(a, b *store.Item) int {
		if a.Time != b.Time {
			return cmp.Compare(a.Time, b.Time)
		}
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Span, b.Span), cmp.Compare(a.Edge, b.Edge))
	})
	found = slices.CompactFunc(found, func(a, b *store.Item) bool { return a == b || a.Seq == b.Seq && a.Seq != 0 })
	out := make([]*trace.Record, len(found))
	for i, r := range found {
		out[i] = &r.Record
	}
	return out, looked, all
}

// fromNode adds the node's records; false if there was not enough room.
func (s *Session) fromNode(from, to int64, take func(*store.Item) bool, look func() bool) bool {
	some := func(wanted func(*store.Item) bool) func(*store.Item) bool {
		return func(r *store.Item) bool {
			if wanted(r) {
				return take(r)
			}
			return look()
		}
	}
	figures := some(func(r *store.Item) bool { return evidence.Figures(r.Event) })
	earlier := some(func(r *store.Item) bool { return evidence.Figures(r.Event) && evidence.Since(&r.Record) < to }) // they are published at the end of their time
	ahead := to + int64(evidence.LookAhead)
	return s.Node(from, to, take) &&
		s.Notes(from, min(to, s.NodeFrom()), figures) && // those for which the node's other records left no room
		s.Notes(from-int64(evidence.LookBack), from-1, some(func(r *store.Item) bool { return evidence.Lasting(r.Event) })) &&
		s.Notes(to+1, ahead, earlier) &&
		s.Late(ahead+1, math.MaxInt64, earlier)
}

// fromOthers adds the records of other runs; false if there was not enough room.
func (s *Session) fromOthers(l *store.PodRun, from, to int64, take func(*store.Item) bool, look func() bool) bool {
	runs := s.Runs()
	if s.asOf != s.Came() || len(s.reaches.runs) != len(runs) {
		s.reaches, s.asOf = reachesOf(runs), s.Came()
	}
	for i := range s.reaches.within(from, to) {
		if runs[i] != l && !runs[i].Between(from, to, func(r *store.Item) bool {
			if evidence.Private(r.Event) {
				return look()
			}
			return take(r)
		}) {
			return false
		}
	}
	return true
}
