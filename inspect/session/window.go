package session

import (
	"cmp"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxOpen bounds how many spans of a window may be open beyond its records: more than a node ever has at work.
const maxOpen = 4096

// window keeps the first records and the newest, and of those between what has not ended, milestones and the last status.
type window struct {
	headCap, tailCap int
	head             []trace.Record
	tail             []trace.Record // a ring once it is full
	at               int            // of a full ring: the oldest
	// open are the spans that have not ended: in the head (true), or in the tail, or dropped from it into kept.
	open    map[trace.SpanID]bool
	kept    []trace.Record
	status  *trace.Record // the newest status that was dropped
	dropped bool
}

func newWindow(head, tail int) window {
	return window{headCap: head, tailCap: max(tail, 1), open: map[trace.SpanID]bool{}}
}

// add keeps a record, and drops another for it if need be.
func (w *window) add(r trace.Record) {
	inHead := false
	switch r.Edge {
	case trace.EdgeBegin:
		if inHead = len(w.head) < w.headCap; len(w.open) < maxOpen {
			w.open[r.Span] = inHead
		}
	case trace.EdgeEnd:
		inHead = w.open[r.Span] // an end goes with its begin, lest that look open for ever
		delete(w.open, r.Span)
		if len(w.kept) > 0 {
			w.kept = slices.DeleteFunc(w.kept, func(k trace.Record) bool { return k.Span == r.Span && k.Edge == trace.EdgeBegin })
		}
	case trace.EdgePoint:
	}
	switch {
	case inHead || len(w.head) < w.headCap:
		w.head = append(w.head, r)
	case len(w.tail) < w.tailCap:
		w.tail = append(w.tail, r)
	default:
		w.drop(&w.tail[w.at])
		w.tail[w.at] = r
		w.at = (w.at + 1) % len(w.tail)
	}
}

// drop decides what of a record is kept though there is no room for it.
func (w *window) drop(r *trace.Record) {
	w.dropped = true
	switch r.Event.(type) {
	case *trace.Milestone:
		w.kept = append(w.kept, *r)
		return
	case *trace.PodStatus:
		w.status = new(*r)
		return
	}
	if _, open := w.open[r.Span]; open && r.Edge == trace.EdgeBegin {
		w.kept = append(w.kept, *r)
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
	bySeq := func(a, b trace.Record) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq)) }
	if !slices.IsSortedFunc(out, bySeq) {
		slices.SortStableFunc(out, bySeq)
	}
	return out
}

// between calls f for each record made in [from, to], and for begins before that of what has not ended, in order within each part.
func (w *window) between(from, to int64, f func(*trace.Record)) {
	part := func(recs []trace.Record) {
		i, _ := slices.BinarySearchFunc(recs, from, func(r trace.Record, t int64) int { return cmp.Compare(r.Time, t) })
		if len(w.open) > 0 {
			for j := range recs[:i] {
				if _, open := w.open[recs[j].Span]; open && recs[j].Edge == trace.EdgeBegin {
					f(&recs[j])
				}
			}
		}
		for ; i < len(recs) && recs[i].Time <= to; i++ {
			f(&recs[i])
		}
	}
	part(w.head)
	part(w.kept)
	part(w.tail[w.at:])
	part(w.tail[:w.at])
}
