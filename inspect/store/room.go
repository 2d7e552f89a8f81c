package store

import (
	"cmp"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Need is how much a kept item is needed: 0 the most.
type Need uint8

// Visit visits an item at a holder, which removes it if Visit returns false. Of a span, it is the whole item.
type Visit func(it *Item, n Need) bool

// ItemBytes is the approximate size of an item without its record, including references to it.
const ItemBytes = 128

// levelBytes is the size of a level of a pod's records: a pod with more records than others loses them first.
const levelBytes = 64 << 10

// Bytes returns the size of an item, including the end of what it begins.
func (it *Item) Bytes() int {
	n := int(it.size) + ItemBytes
	if end := it.End(); end != nil {
		n += int(end.size) + ItemBytes
	}
	return n
}

// Need returns how much an item is needed by any holder, as of the last count.
func (it *Item) Need() Need { return it.need }

// Out reports whether an item must be removed.
func (it *Item) Out() bool { return it.is&out != 0 }

// Count returns all items that a walk visits, with their needs, and the number and size of their records.
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

// Missing returns how many of the items' records the last count did not visit.
func (s *Store) Missing(items []*Item) (n uint64) {
	for _, it := range items {
		if it.round != s.round {
			n += it.records()
		}
	}
	return n
}

// MakeRoom marks the items of the last count as out that are needed least, so that the others have at most that many
// bytes. Of equally needed ones, the newest 64 KiB of each pod are kept before the next 64 KiB of any pod.
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

// Walk visits the kept items of the run: its first records, and the rest.
func (p *PodRun) Walk(v Visit, head, rest Need) {
	p.win.filter(func(it *Item) bool {
		if it.is&first != 0 {
			return v(it.Whole(), head)
		}
		return v(it.Whole(), rest)
	})
}

// Items returns the kept items of the run.
func (p *PodRun) Items() (out []*Item) {
	p.win.each(func(it *Item) {
		if it.Whole() == it {
			out = append(out, it)
		}
	})
	return out
}

// Walk visits the kept items of the node, and what is open.
func (s *Store) Walk(v Visit, node, open Need) {
	s.open.Drop(func(b begun) bool { return v(b.it, open) })
	of := func(it *Item) bool { return v(it.Whole(), node) }
	s.node.filter(of)
	filter(&s.notes, of)
	filter(&s.late, of)
	for uid, it := range s.left {
		if !of(it) {
			delete(s.left, uid)
		}
	}
}

// BytesOf returns the size of what is kept of a pod's runs.
func (s *Store) BytesOf(pod trace.Pod) (n int) {
	for p := s.byPod[pod]; p != nil; p = p.Before {
		n += p.win.bytes()
	}
	return n
}

// Bytes returns the size of everything that is kept.
func (s *Store) Bytes() int {
	n := s.node.bytes()
	s.recent.Each(func(r *trace.Record) { n += r.Size() })
	for _, p := range s.Runs() {
		n += p.win.bytes()
	}
	return n
}

// Cut removes the records of a pod's runs, which are incomplete from then on.
func (s *Store) Cut(pod trace.Pod) {
	for p := s.byPod[pod]; p != nil; p = p.Before {
		p.win.newest(0)
		p.incomplete, p.startIncomplete = true, true
	}
}

// Halve removes the older half of the node's and of the last records, and of the runs of pods that are not wanted.
func (s *Store) Halve(wanted func(trace.Pod) bool) {
	s.node.tail.Halve()
	s.notes.Halve()
	s.late.Halve()
	s.recent.Halve()
	for _, p := range slices.Clone(s.Runs()) {
		if !wanted(p.Pod) {
			s.Forget(p.Pod)
		}
	}
}

// Sweep removes the node's records that explain no kept run, and will explain no later one.
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
		if evidence.Figures(last.Event) && evidence.Overlaps(at, evidence.Since(last), last.Time) {
			return true
		}
		return !it.Over() || evidence.Within(when, it.Time) || evidence.Within(when, last.Time)
	}
	s.node.filter(wanted)
	filter(&s.notes, wanted)
	filter(&s.late, wanted)
}
