package store

import (
	"math"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Item is a record that is kept, without bodies. It must not be changed.
type Item struct {
	trace.Record
	peer  *Item  // of a begin its end, of an end its begin; nil: there is none, or it has not come
	size  uint32 // bytes of the record
	round uint16 // of the last count that came across it
	need  Need   // the greatest of any holder, as of that count
	is    facts
}

// facts are what is known of an item.
type facts uint8

const (
	open  facts = 1 << iota // it begins what has not ended
	first                   // it is among the first of its window
	out                     // it has to go: there is no room
)

// End is the end of what the record begins; nil: there is none, or it has not come.
func (it *Item) End() *Item {
	if it.Edge == trace.EdgeBegin {
		return it.peer
	}
	return nil
}

// Whole is the item that has both records of a span: its begin; of all else the item itself.
func (it *Item) Whole() *Item {
	if it.Edge == trace.EdgeEnd && it.peer != nil {
		return it.peer
	}
	return it
}

// Over reports whether it is no begin that waits for its end.
func (it *Item) Over() bool { return it.Edge != trace.EdgeBegin || it.peer != nil }

// Latest is the last record that is known of it.
func (it *Item) Latest() *trace.Record {
	if end := it.End(); end != nil {
		return &end.Record
	}
	return &it.Record
}

// records is how many records a whole item has.
func (it *Item) records() uint64 {
	if it.End() != nil {
		return 2
	}
	return 1
}

// keep makes an item of a record.
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

// begun is what has begun and not ended.
type begun struct {
	it          *Item
	over, doubt func() // who watches it
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

// pair finds the begin of what a record ends; what it begins is open until then.
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

// Close closes what an item ends.
func (s *Store) Close(it *Item) {
	if it.Edge == trace.EdgeEnd && it.peer != nil {
		s.open.End(it.Span)
	}
}

// Watch has functions be called when the span that an item begins is over, and when its end may have been lost: once each, at most. They must
// not use the store.
func (s *Store) Watch(it *Item, over, doubt func()) {
	if b := s.open.Find(it.Span); b != nil && b.it == it {
		b.over, b.doubt = over, doubt
	}
}

// settle closes what an earlier pass of a run's worker left in doubt: a worker is serial, so that has ended unseen.
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

// notable tells records of the node that explain what is far from them.
func notable(e trace.Event) bool { return evidence.Figures(e) || evidence.Lasting(e) }
