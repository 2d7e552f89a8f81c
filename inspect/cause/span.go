package cause

import (
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Span is a begin/end pair of records whose event is an E; Stop is the case's Now while it is open.
type Span[E trace.Event] = pair.Span[E]

// ownSpans are the pod's own spans of one type of event, nodeSpans those of the node and of other pods. They are shared: a caller
// that changes the list clones it.
func ownSpans[E trace.Event](c *Case) []Span[E]  { return spans[E](c, true) }
func nodeSpans[E trace.Event](c *Case) []Span[E] { return spans[E](c, false) }

func spans[E trace.Event](c *Case, own bool) []Span[E] {
	var e E
	return listed(c, listOf{kindOf{own, e.Kind()}, true}, func(recs []*trace.Record) []Span[E] { return pair.Of[E](recs, c.Now) })
}

// Point is a record without duration whose event is an E.
type Point[E trace.Event] struct {
	Event E
	Rec   *trace.Record
}

// pointsOf returns the points of one type of event.
func pointsOf[E trace.Event](recs []*trace.Record) []Point[E] {
	var out []Point[E]
	for _, r := range recs {
		if e, ok := r.Event.(E); ok && r.Edge == trace.EdgePoint {
			out = append(out, Point[E]{Event: e, Rec: r})
		}
	}
	return out
}

// ownPoints are the pod's own points of one type of event, nodePoints those of the node and of other pods. They are shared, too.
func ownPoints[E trace.Event](c *Case) []Point[E]  { return points[E](c, true) }
func nodePoints[E trace.Event](c *Case) []Point[E] { return points[E](c, false) }

func points[E trace.Event](c *Case, own bool) []Point[E] {
	var e E
	return listed(c, listOf{kindOf{own, e.Kind()}, false}, pointsOf[E])
}

// kindOf is the kind of some of a case's records, listOf a list that was made of those.
type (
	kindOf struct {
		own  bool
		kind trace.Kind
	}
	listOf struct {
		kindOf
		spans bool
	}
)

// listed makes a list of the records of one kind, unless it was made before.
func listed[L any](c *Case, of listOf, list func([]*trace.Record) L) L {
	if l, ok := c.memo.lists[of].(L); ok {
		return l
	}
	if c.memo.lists == nil {
		c.memo.lists = map[listOf]any{}
	}
	l := list(c.ofKind(of.kindOf))
	c.memo.lists[of] = l
	return l
}

// ofKind are the records of one kind, in order. The first time it sorts all by their kinds.
func (c *Case) ofKind(of kindOf) []*trace.Record {
	sorted := kindOf{own: of.own, kind: noKind}
	if c.memo.byKind == nil {
		c.memo.byKind = map[kindOf][]*trace.Record{}
	}
	if _, done := c.memo.byKind[sorted]; !done {
		c.memo.byKind[sorted] = nil
		for k, all := range byKind(c.recordsOf(of.own)) {
			if len(all) > 0 {
				c.memo.byKind[kindOf{of.own, trace.Kind(k)}] = all
			}
		}
	}
	return c.memo.byKind[of]
}

// recordsOf are the pod's own records, or the others.
func (c *Case) recordsOf(own bool) []*trace.Record {
	if !own {
		return c.Node
	}
	recs := make([]*trace.Record, len(c.Records))
	for i := range c.Records {
		recs[i] = &c.Records[i]
	}
	return recs
}

// byKind sorts records by their kinds: lists in one array, of which each has its part.
func byKind(recs []*trace.Record) (lists [noKind][]*trace.Record) {
	var count [noKind]int
	for i := range recs {
		if recs[i].Event != nil {
			count[recs[i].Event.Kind()]++
		}
	}
	all, at := make([]*trace.Record, len(recs)), 0
	for k, n := range count {
		lists[k] = all[at : at : at+n]
		at += n
	}
	for i := range recs {
		if recs[i].Event != nil {
			k := recs[i].Event.Kind()
			lists[k] = append(lists[k], recs[i])
		}
	}
	return lists
}

// noKind marks what has been sorted.
const noKind = ^trace.Kind(0)
