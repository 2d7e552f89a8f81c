package store

import (
	"cmp"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Need is how much something is needed that is kept: 0 the most.
type Need uint8

// Visit sees an item at a holder, which lets go of it where Visit returns false. Of a span it is the whole.
type Visit func(it *Item, n Need) bool

// ItemBytes is what an item takes beside its record, about, with the places that hold it.
const ItemBytes = 128

// levelBytes is how much of a pod's records has the same right to stay: a pod that has more than others gives way before them.
const levelBytes = 64 << 10

// Bytes is what an item takes, with the end of what it begins.
func (it *Item) Bytes() int {
	n := int(it.size) + ItemBytes
	if end := it.End(); end != nil {
		n += int(end.size) + ItemBytes
	}
	return n
}

// Need is how much any holder needs an item, as of the last count.
func (it *Item) Need() Need { return it.need }

// Out reports whether an item has to go.
func (it *Item) Out() bool { return it.is&out != 0 }

// Count returns all items that a walk comes across, each with how much it is needed, and how many records and bytes they are.
func (s *Store) Count(walk func(Visit)) (items []*Item, records uint64, bytes int) {
	s.round = max(s.round+1, 1)
	walk(func(it *Item, n Need) bool {
		if it.round == s.round {
			it.need = min(it.need, n)
			return true
		}
		it.round, it.need = s.round, n
		items = append(items, it)
		records += it.records()
		bytes += it.Bytes()
		return true
	})
	return items, records, bytes
}

// Missing is how many of the records of items the last count did not come across.
func (s *Store) Missing(items []*Item) (n uint64) {
	for _, it := range items {
		if it.round != s.round {
			n += it.records()
		}
	}
	return n
}

// MakeRoom has those of the items of the last count be out that are needed least, so that the others take no more than so many bytes. Of
// those that are needed alike, the newest 64 KiB of each pod come before the next 64 KiB of any.
func MakeRoom(items []*Item, bytes int) {
	slices.SortFunc(items, func(a, b *Item) int { return cmp.Compare(b.Latest().Seq, a.Latest().Seq) })
	type share struct {
		pod  trace.Pod
		need Need
	}
	used, level := map[share]int{}, make(map[*Item]int, len(items))
	for _, it := range items {
		of := share{it.Pod, it.need}
		level[it] = used[of] / levelBytes
		used[of] += it.Bytes()
	}
	slices.SortStableFunc(items, func(a, b *Item) int {
		if a.need != b.need {
			return cmp.Compare(a.need, b.need)
		}
		return cmp.Compare(level[a], level[b])
	})
	for _, it := range items {
		it.is &^= out
		if bytes -= it.Bytes(); bytes < 0 {
			it.is |= out
		}
	}
}

// Walk visits what is kept of the run: its first records, and what else explains it.
func (p *PodRun) Walk(v Visit, head, rest Need) {
	p.win.filter(func(it *Item) bool {
		if it.is&first != 0 {
			return v(it.Whole(), head)
		}
		return v(it.Whole(), rest)
	})
}

// Items are those that are kept of the run.
func (p *PodRun) Items() (out []*Item) {
	p.win.each(func(it *Item) {
		if it.Whole() == it {
			out = append(out, it)
		}
	})
	return out
}

// Walk visits what is kept of the node, and what is open.
func (s *Store) Walk(v Visit, node, open Need) {
	s.open.Drop(func(b begun) bool { return v(b.it, open) })
	of := func(it *Item) bool { return v(it.Whole(), node) }
	s.node.filter(of)
	filter(&s.notes, of)
	for uid, it := range s.left {
		if !of(it) {
			delete(s.left, uid)
		}
	}
}

// BytesOf is what is kept of a pod's runs, Bytes all that is kept.
func (s *Store) BytesOf(pod trace.Pod) (n int) {
	for p := s.byPod[pod]; p != nil; p = p.Before {
		n += p.win.bytes()
	}
	return n
}

// Bytes is what all takes that is kept.
func (s *Store) Bytes() int {
	n := s.node.bytes()
	s.recent.Each(func(r *trace.Record) { n += r.Size() })
	for _, p := range s.Runs() {
		n += p.win.bytes()
	}
	return n
}

// Cut lets go of the records of a pod's runs, which are incomplete from then on.
func (s *Store) Cut(pod trace.Pod) {
	for p := s.byPod[pod]; p != nil; p = p.Before {
		p.win.newest(0)
		p.incomplete, p.startIncomplete = true, true
	}
}

// Halve lets go of the older half of what is kept of the node and of the last records, and of the runs of pods that are not wanted.
func (s *Store) Halve(wanted func(trace.Pod) bool) {
	s.node.tail.Halve()
	s.notes.Halve()
	s.recent.Halve()
	for _, p := range slices.Clone(s.Runs()) {
		if !wanted(p.Pod) {
			s.Forget(p.Pod)
		}
	}
}

// Sweep lets go of what the node did that explains no run that is kept, and will explain none that comes.
func (s *Store) Sweep(now int64) {
	recent := evidence.Interval{From: now - int64(evidence.LookBack), To: now}
	at, far := []evidence.Interval{recent}, []evidence.Interval{recent}
	for _, p := range s.Runs() {
		end := now
		if p.until != 0 {
			end = p.until
		}
		for _, i := range p.Times.Interest(end) {
			at = append(at, i)
			far = append(far, evidence.Interval{From: i.From - int64(evidence.LookBack), To: i.To + int64(evidence.LookAhead)})
		}
	}
	at, far = evidence.Union(at), evidence.Union(far)
	wanted := func(it *Item) bool {
		it = it.Whole()
		when, last := at, it.Latest()
		if notable(last.Event) {
			when = far
		}
		return !it.Over() || evidence.Within(when, it.Time) || evidence.Within(when, last.Time)
	}
	s.node.filter(wanted)
	filter(&s.notes, wanted)
}
