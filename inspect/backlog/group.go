package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// group is a record with the records that it caused directly.
type group struct {
	it       *store.Item
	children []*store.Item
}

// groups are the last records of a kind, by span.
type groups struct {
	ring.Ring[*group]
	by          map[trace.SpanID]*group
	maxChildren int
}

func newGroups(size, children int) groups {
	return groups{Ring: ring.New[*group](size), by: map[trace.SpanID]*group{}, maxChildren: children}
}

func (g *groups) add(it *store.Item) {
	span := it.Span
	if g.by[span] != nil {
		return
	}
	n := &group{it: it}
	g.by[span] = n
	if old, displaced := g.Push(n); displaced {
		delete(g.by, old.it.Span)
	}
}

// child adds a record to its parent's group, if that is known.
func (g *groups) child(it *store.Item) {
	if p := g.by[it.Parent]; p != nil && len(p.children) < g.maxChildren {
		p.children = append(p.children, it)
	}
}

func (g *groups) walk(v visit) {
	some := false
	g.Each(func(n *group) {
		many(v, needPast, &n.children)
		if !v(n.it, needHistory) {
			delete(g.by, n.it.Span)
			n.it, some = nil, true
		}
	})
	if some {
		g.Drop(func(n *group) bool { return n.it == nil })
	}
}
