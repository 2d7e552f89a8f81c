package store

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

const (
	// maxMarks limits the milestones that are kept in addition to a window's records: a run has seven.
	maxMarks = 64
	// maxOpen limits the begins that are kept in addition.
	maxOpen = 4096
)

// window keeps the first and the newest records, and of those in between begins without ends, milestones and the last
// status.
type window struct {
	head []*Item
	tail ring.Ring[*Item]
	// open are begins, in order, including those without ends; kept are the begins and milestones that were dropped
	// from the tail.
	open, kept []*Item
	marks      int   // milestones in kept, or lost
	status     *Item // the newest status that was dropped
	firsts     int   // maximum number of records in head, except for ends of its begins
	dropped    int64 // time of the first dropped record; 0: none
}

func newWindow(first, newest int) window {
	return window{firsts: first, tail: ring.New[*Item](max(newest, 1))}
}

// add adds a record, and drops another one if necessary.
func (w *window) add(it *Item) {
	if isOpen(it) {
		w.open = push(w.open, it, isOpen)
	}
	if len(w.head) < w.firsts && w.tail.Len() == 0 || it.Whole().is&first != 0 { // an end is kept with its begin, which would otherwise look open forever
		it.is |= first
		w.head = append(w.head, it)
	} else if old, displaced := w.tail.Push(it); displaced {
		w.drop(old)
	}
}

func isOpen(it *Item) bool { return it.is&open != 0 }

// inKept reports whether an item in kept is still needed: a begin is not after its end.
func inKept(it *Item) bool { return it.End() == nil }

// push appends an item. If there is no room, it first removes items that are no longer wanted.
func push(to []*Item, it *Item, wanted func(*Item) bool) []*Item {
	if len(to) == cap(to) {
		to = slices.DeleteFunc(to, func(o *Item) bool { return !wanted(o) })
		if 2*len(to) > cap(to) {
			to = slices.Grow(to, len(to)+4)
		}
	}
	return append(to, it)
}

// drop keeps what is needed of a record for which there is no room.
func (w *window) drop(it *Item) {
	w.dropped = cmp.Or(w.dropped, it.Time, 1)
	switch it.Event.(type) {
	case *trace.Milestone:
		if w.marks++; w.marks <= maxMarks {
			w.kept = push(w.kept, it, inKept)
		}
		return
	case *trace.PodStatus:
		w.status = it
		return
	}
	if isOpen(it) && len(w.kept) < maxOpen {
		w.kept = push(w.kept, it, inKept)
	}
}

// forget removes an attempt that no longer explains anything.
func (w *window) forget(a *evidence.Attempt) {
	goes := func(it *Item) bool { return a.Has(it.Span) }
	if w.tail.Len() == 0 {
		from := len(w.head)
		for from > 0 && w.head[from-1].Time >= a.From {
			from--
		}
		w.head = append(w.head[:from], slices.DeleteFunc(w.head[from:], goes)...)
		return
	}
	var stay []*Item
	for w.tail.Len() > 0 && w.tail.At(w.tail.Len()-1).Time >= a.From {
		if it := w.tail.Pop(); !goes(it) {
			stay = append(stay, it)
		}
	}
	for _, it := range slices.Backward(stay) {
		w.tail.Push(it)
	}
}

// each visits everything that is kept.
func (w *window) each(f func(*Item)) {
	for _, it := range w.head {
		f(it)
	}
	for _, it := range w.kept {
		if inKept(it) {
			f(it)
		}
	}
	if w.status != nil {
		f(w.status)
	}
	w.tail.Each(f)
}

// count returns the approximate number of kept records.
func (w *window) count() int { return len(w.head) + len(w.kept) + w.tail.Len() + 1 }

// records appends everything that is kept, in order.
func (w *window) records(out []trace.Record) []trace.Record {
	w.each(func(it *Item) { out = append(out, it.Record) })
	bySeq := func(a, b *trace.Record) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq)) }
	for i := 1; i < len(out); i++ {
		if bySeq(&out[i-1], &out[i]) > 0 {
			sorting.Stable(out, bySeq)
			break
		}
	}
	return out
}

// between calls f for each begin before from that has not ended, and for each record in [from, to], in order within
// each part, until f returns false; then it returns false, too.
func (w *window) between(from, to int64, f func(*Item) bool) bool {
	for _, it := range w.open {
		if isOpen(it) && it.Time < from && !f(it) {
			return false
		}
	}
	list := func(of []*Item) func(int) *Item { return func(i int) *Item { return of[i] } }
	return within(len(w.head), list(w.head), from, to, f) && within(len(w.kept), list(w.kept), from, to, f) && within(w.tail.Len(), w.tail.At, from, to, f)
}

// within calls f for each of n items in [from, to] until f returns false; then it returns false, too.
func within(n int, at func(int) *Item, from, to int64, f func(*Item) bool) bool {
	i := sort.Search(n, func(i int) bool { return at(i).Time >= from })
	for ; i < n && at(i).Time <= to; i++ {
		if !f(at(i)) {
			return false
		}
	}
	return true
}

// filter removes unwanted items.
func (w *window) filter(wanted func(*Item) bool) {
	goes := func(it *Item) bool { return !wanted(it) }
	w.head, w.kept = slices.DeleteFunc(w.head, goes), slices.DeleteFunc(w.kept, goes)
	w.open = slices.DeleteFunc(w.open, func(it *Item) bool { return !isOpen(it) })
	if w.status != nil && goes(w.status) {
		w.status = nil
	}
	filter(&w.tail, wanted)
}

// filter removes unwanted items from a ring.
func filter(of *ring.Ring[*Item], wanted func(*Item) bool) {
	out := map[*Item]bool{}
	of.Each(func(it *Item) {
		if !wanted(it) {
			out[it] = true
		}
	})
	if len(out) > 0 {
		of.Drop(func(it *Item) bool { return out[it] })
	}
}

// newest removes all but the newest n records.
func (w *window) newest(n int) {
	all := w.count() - 1
	w.filter(func(*Item) bool { all--; return all < n })
}

// bytes returns the size of everything that is kept.
func (w *window) bytes() (n int) {
	w.each(func(it *Item) { n += int(it.size) + ItemBytes })
	return n
}
