package session

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxOpen bounds how many spans of a window may be open beyond its records: more than a node ever has at work.
const maxOpen = 4096

// maxMarks bounds the milestones that are kept beyond a window's records: a run has seven.
const maxMarks = 64

// window keeps the first records and the newest, and of those between what has not ended, milestones and the last status.
type window struct {
	headCap, tailCap int
	head             []trace.Record
	tail             []trace.Record // a ring once it is full
	at               int            // of a full ring: the oldest
	// open are the begins of spans that have not ended.
	open  map[trace.SpanID]openSpan
	kept  []trace.Record
	marks int // milestones in kept, or lost
	// notes tells records that are looked for far around; noted are the numbers of those in the tail, whose records are numbered from 0.
	notes   func(trace.Event) bool
	noted   []uint64
	tails   uint64        // records that ever came into the tail
	status  *trace.Record // the newest status that was dropped
	dropped bool
	// out is how many records of a full tail were forgotten: they have no event.
	out int
}

// openSpan is a span that has not ended. Its begin is in the head, or in the tail, or dropped from it into kept.
type openSpan struct {
	begin        trace.Record
	inHead, kept bool
}

func newWindow(head, tail int) window {
	return window{headCap: head, tailCap: max(tail, 1), notes: func(trace.Event) bool { return false }, open: map[trace.SpanID]openSpan{}}
}

// add keeps a record, and drops another for it if necessary.
func (w *window) add(r trace.Record) {
	inHead := false
	switch r.Edge {
	case trace.EdgeBegin:
		if inHead = len(w.head) < w.headCap; len(w.open) < maxOpen {
			w.open[r.Span] = openSpan{begin: r, inHead: inHead}
		}
	case trace.EdgeEnd:
		o := w.open[r.Span]
		inHead = o.inHead // an end goes with its begin, lest that look open for ever
		delete(w.open, r.Span)
		if o.kept {
			w.kept = slices.DeleteFunc(w.kept, func(k trace.Record) bool { return k.Span == r.Span && k.Edge == trace.EdgeBegin })
		}
	case trace.EdgePoint:
	}
	switch {
	case inHead || len(w.head) < w.headCap && len(w.tail) == 0:
		w.head = append(w.head, r)
	case len(w.tail) < w.tailCap:
		w.note(r.Event)
		w.tail = append(w.tail, r)
	default:
		w.drop(&w.tail[w.at])
		w.note(r.Event)
		w.tail[w.at] = r
		w.at = (w.at + 1) % len(w.tail)
	}
}

// note numbers a record that comes into the tail, in the place of the oldest one once that is full.
func (w *window) note(e trace.Event) {
	if len(w.noted) > 0 && w.noted[0]+uint64(w.tailCap) <= w.tails {
		w.noted = w.noted[1:]
	}
	if w.notes(e) {
		w.noted = append(w.noted, w.tails)
	}
	w.tails++
}

// drop decides what of a record is kept though there is no room for it.
func (w *window) drop(r *trace.Record) {
	if r.Event == nil {
		w.out--
		return
	}
	w.dropped = true
	switch r.Event.(type) {
	case *trace.Milestone:
		if w.marks++; w.marks <= maxMarks {
			w.kept = append(w.kept, *r)
		}
		return
	case *trace.PodStatus:
		w.status = new(*r)
		return
	}
	if o, open := w.open[r.Span]; open && !o.kept && r.Edge == trace.EdgeBegin {
		o.kept = true
		w.open[r.Span] = o
		w.kept = append(w.kept, *r)
	}
}

// forget lets go of an attempt that explains nothing any more.
func (w *window) forget(a *evidence.Attempt) {
	goes := func(r trace.Record) bool { return a.Has(r.Span) }
	since := func(recs []trace.Record) int {
		i := len(recs)
		for i > 0 && recs[i-1].Time >= a.From {
			i--
		}
		return i
	}
	switch {
	case len(w.tail) == 0:
		from := since(w.head)
		w.head = append(w.head[:from], slices.DeleteFunc(w.head[from:], goes)...)
	case len(w.tail) < w.tailCap:
		from := since(w.tail)
		w.tail = append(w.tail[:from], slices.DeleteFunc(w.tail[from:], goes)...)
	default:
		for i := range w.tail {
			r := &w.tail[(w.at-1-i+2*len(w.tail))%len(w.tail)]
			if r.Time < a.From {
				break
			}
			if r.Event != nil && goes(*r) {
				r.Event = nil
				w.out++
			}
		}
		if 4*w.out > len(w.tail) {
			w.tail = slices.DeleteFunc(slices.Concat(w.tail[w.at:], w.tail[:w.at]), func(r trace.Record) bool { return r.Event == nil })
			w.at, w.out = 0, 0
		}
	}
}

// records are all that is kept, in order.
func (w *window) records() []trace.Record {
	out := make([]trace.Record, 0, len(w.head)+len(w.kept)+len(w.tail)+1)
	out = append(out, w.head...)
	out = append(out, w.kept...)
	if w.status != nil {
		out = append(out, *w.status)
	}
	out = append(append(out, w.tail[w.at:]...), w.tail[:w.at]...)
	if w.out > 0 {
		out = slices.DeleteFunc(out, func(r trace.Record) bool { return r.Event == nil })
	}
	bySeq := func(a, b trace.Record) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq)) }
	if !slices.IsSortedFunc(out, bySeq) {
		slices.SortStableFunc(out, bySeq)
	}
	return out
}

// between calls f for each begin before from of what has not ended, and for each record made in [from, to], in order within each part,
// until f is false; then it is false, too.
func (w *window) between(from, to int64, f func(*trace.Record) bool) bool {
	for _, r := range w.openBefore(from) {
		if !f(r) {
			return false
		}
	}
	for _, recs := range [][]trace.Record{w.head, w.kept, w.tail[w.at:], w.tail[:w.at]} {
		if !each(recs, from, to, f) {
			return false
		}
	}
	return true
}

// notable is between, and of the tail only what is noted.
func (w *window) notable(from, to int64, f func(*trace.Record) bool) bool {
	for _, r := range w.openBefore(from) {
		if !f(r) {
			return false
		}
	}
	for _, recs := range [][]trace.Record{w.head, w.kept} {
		if !each(recs, from, to, f) {
			return false
		}
	}
	tail := func(n uint64) *trace.Record { return &w.tail[n%uint64(w.tailCap)] }
	i, _ := slices.BinarySearchFunc(w.noted, from, func(n uint64, t int64) int { return cmp.Compare(tail(n).Time, t) })
	for ; i < len(w.noted) && tail(w.noted[i]).Time <= to; i++ {
		if !f(tail(w.noted[i])) {
			return false
		}
	}
	return true
}

// each calls f for each record made in [from, to] until f is false; then it is false, too.
func each(recs []trace.Record, from, to int64, f func(*trace.Record) bool) bool {
	i := sort.Search(len(recs), func(i int) bool { return recs[i].Time >= from })
	for ; i < len(recs) && recs[i].Time <= to; i++ {
		if recs[i].Event != nil && !f(&recs[i]) {
			return false
		}
	}
	return true
}

// openBefore are the begins before a time of what has not ended, in order.
func (w *window) openBefore(t int64) (out []*trace.Record) {
	for _, o := range w.open {
		if o.begin.Time < t {
			out = append(out, &o.begin)
		}
	}
	slices.SortFunc(out, func(a, b *trace.Record) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Span, b.Span))
	})
	return out
}
