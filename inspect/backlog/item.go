package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
)

// item is one thing that happened: a point, or a begin with its end as soon as that is known.
// Whoever holds one has both, so nothing that is finished is ever told as going on.
type item struct {
	first, end *trace.Record

	size  int    // bytes that both take, with the item itself
	round uint64 // of the last count that came across it
	need  need   // the greatest of any holder, as of that count
	level int    // its place among what the pod has that is needed alike, in steps of levelBytes
	out   bool   // it has to go: there is no room
	head  bool   // it is among the first of its run
}

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
	kept.Event = trace.WithoutBodies(r.Event)
	return &kept
}

// group is something with what it caused directly.
type group struct {
	it       *item
	children []*item
}

// groups are the last things of a kind, by their spans.
type groups struct {
	ring.Ring[*group]
	by          map[trace.SpanID]*group
	maxChildren int
}

func newGroups(size, children int) groups {
	return groups{Ring: ring.New[*group](size), by: map[trace.SpanID]*group{}, maxChildren: children}
}

func (g *groups) add(it *item) {
	span := it.first.Span
	if g.by[span] != nil {
		return
	}
	n := &group{it: it}
	g.by[span] = n
	if old, displaced := g.Push(n); displaced {
		delete(g.by, old.it.first.Span)
	}
}

// child adds it to what its parent caused, if that is known.
func (g *groups) child(it *item) {
	if p := g.by[it.first.Parent]; p != nil && len(p.children) < g.maxChildren {
		p.children = append(p.children, it)
	}
}

func (g *groups) walk(v visit) {
	some := false
	g.Each(func(n *group) {
		many(v, needPast, &n.children)
		if !v(n.it, needHistory) {
			delete(g.by, n.it.first.Span)
			n.it, some = nil, true
		}
	})
	if some {
		g.Drop(func(n *group) bool { return n.it == nil })
	}
}
