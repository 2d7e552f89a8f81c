package store

import (
	"math"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Item is a kept record, without bodies. It must not be changed.
type Item struct {
	trace.Record
	peer  *Item  // for a begin its end, for an end its begin; nil: there is none, or not yet
	size  uint32 // size of the record
	round uint16 // of the last count that visited it
	need  Need   // the highest of all holders, as of that count
	is    facts
}

// facts are known facts about an item.
type facts uint8

const (
	open  facts = 1 << iota // a begin without an end
	first                   // it is among the first of its window
	out                     // it must be removed: there is no room
)

// End returns the end of what the record begins; nil: there is none, or not yet.
func (it *Item) End() *Item {
	if it.Edge == trace.EdgeBegin {
		return it.peer
	}
	return nil
}

// Whole returns the item that has both records of a span: its begin; for others, the item itself.
func (it *Item) Whole() *Item {
	if it.Edge == trace.EdgeEnd && it.peer != nil {
		return it.peer
	}
	return it
}

// Over reports whether it is not a begin without an end.
func (it *Item) Over() bool { return it.Edge != trace.EdgeBegin || it.peer != nil }

// Latest returns the last known record of it.
func (it *Item) Latest() *trace.Record {
	if end := it.End(); end != nil {
		return &end.Record
	}
	return &it.Record
}

// records returns the number of records of a whole item.
func (it *Item) records() uint64 {
	if it.End() != nil {
		return 2
	}
	return 1
}

// keep returns a new item for a record.
func (s *Store) keep(r *trace.Record) *Item {
	it := &Item{Record: *r}
	it.Event = trace.WithoutBodies(r.Event)
	if e, ok := it.Event.(*trace.StatusPatch); ok && e.Patch != "" && !s.policy.Patches {
		c := *e
		c.Patch = ""
		it.Event = &c
	}
	size := it.Size()
	if s.size += size; s.policy.Short > 0 && s.size > s.policy.Short {
		it.Shorten()
	}
	it.size = uint32(min(size, math.MaxUint32))
	return it
}

// begun is something that has begun and not ended.
type begun struct {
	it          *Item
	over, doubt func() // callbacks of Watch
}

func (b begun) ended() {
	b.it.is &^= open
	if b.over != nil {
		b.over()
	}
}

func (b begun) doubted() {
	if b.doubt != nil {
		b.doubt()
	}
}

// pair finds the begin of an end; a begin is open until its end.
func (s *Store) pair(it *Item) {
	switch it.Edge {
	case trace.EdgeBegin:
		if it.Span != 0 {
			it.is |= open
			s.open.Begin(&it.Record, begun{it: it})
		}
	case trace.EdgeEnd:
		if b := s.open.Find(it.Span); b != nil && b.it.Pod == it.Pod {
			it.peer, b.it.peer = b.it, it
		}
	case trace.EdgePoint:
	}
}

// Close closes the span that an item ends.
func (s *Store) Close(it *Item) {
	if it.Edge == trace.EdgeEnd && it.peer != nil {
		s.open.End(it.Span)
	}
}

// Watch registers functions that are called when the span of an item ends, and when its end may have been lost: each at
// most once. They must not use the store.
func (s *Store) Watch(it *Item, over, doubt func()) {
	if b := s.open.Find(it.Span); b != nil && b.it == it {
		b.over, b.doubt = over, doubt
	}
}

// settle closes an earlier sync of a run's worker whose end is in doubt: a worker is serial, so it has ended
// unobserved.
func (s *Store) settle(p *PodRun, it *Item) {
	if _, sync := it.Event.(*trace.Sync); !sync || it.Edge != trace.EdgeBegin {
		return
	}
	for _, o := range p.win.open {
		switch o.Event.(type) {
		case *trace.Sync, *trace.Action:
			if o != it && o.is&open != 0 {
				s.open.Settle(o.Span)
			}
		}
	}
}

// notable reports whether a record of the node explains distant records.
func notable(e trace.Event) bool { return evidence.Figures(e) || evidence.Lasting(e) }
