package keeper

import (
	"github.com/kubeloupe/kubeloupe/trace"
)

// item is one thing that happened: a point, or a begin with its end as soon as that is known.
// Whoever holds one has both, so nothing that is over is ever told as going on.
type item struct{ first, end *trace.Record }

// over reports whether the item is no begin that waits for its end.
func (it *item) over() bool { return it.end != nil || it.first.Edge != trace.EdgeBegin }

// last is the latest that is known of it.
func (it *item) last() *trace.Record {
	if it.end != nil {
		return it.end
	}
	return it.first
}

// slim returns a copy to keep, without bodies.
func slim(r *trace.Record) *trace.Record {
	kept := *r
	kept.Event = bare(r.Event)
	return &kept
}

// bare returns an event without bodies.
func bare(event trace.Event) trace.Event {
	e, ok := event.(*trace.CRICall)
	if !ok || e.Request.IsZero() && e.Response.IsZero() {
		return event
	}
	c := *e
	c.Request, c.Response = trace.Body{}, trace.Body{}
	return &c
}

// ring keeps the last max values put into it.
type ring[T any] struct {
	items []T
	next  int
	max   int
}

func newRing[T any](size int) ring[T] { return ring[T]{max: size} }

// push adds v and returns what it displaced.
func (r *ring[T]) push(v T) (old T, displaced bool) {
	if len(r.items) < r.max {
		r.items = append(r.items, v)
		return old, false
	}
	old, r.items[r.next] = r.items[r.next], v
	r.next = (r.next + 1) % r.max
	return old, true
}

// group is something with what it caused directly.
type group struct {
	it       *item
	children []*item
}

// groups are the last things of a kind, by their spans.
type groups struct {
	ring[*group]
	by          map[trace.SpanID]*group
	maxChildren int
}

func newGroups(size, children int) groups {
	return groups{ring: newRing[*group](size), by: map[trace.SpanID]*group{}, maxChildren: children}
}

func (g *groups) add(it *item) {
	span := it.first.Span
	if g.by[span] != nil {
		return
	}
	n := &group{it: it}
	g.by[span] = n
	if old, displaced := g.push(n); displaced {
		delete(g.by, old.it.first.Span)
	}
}

// child adds it to what its parent caused, if that is known.
func (g *groups) child(it *item) {
	if p := g.by[it.first.Parent]; p != nil && len(p.children) < g.maxChildren {
		p.children = append(p.children, it)
	}
}
