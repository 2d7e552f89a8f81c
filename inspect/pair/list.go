package pair

import "github.com/kubeloupe/kubeloupe/trace"

// List has a T for each span, which a begin and an end share, in the order of the first records. Build it with NewList.
type List[T any] struct {
	All   []*T
	index index
	room  []T // for those to come
}

// NewList returns an empty list with room for so many spans.
func NewList[T any](room int) List[T] {
	return List[T]{All: make([]*T, 0, room), index: newIndex(room), room: make([]T, 0, room)}
}

// Of returns what the span of a begin or an end has, and whether this is the first record of it.
func (l *List[T]) Of(r *trace.Record) (v *T, fresh bool) {
	n, fresh := l.index.place(r)
	if fresh {
		if len(l.room) == cap(l.room) {
			l.room = make([]T, 0, max(8, min(len(l.All), 1024)))
		}
		var none T
		l.room = append(l.room, none)
		l.All = append(l.All, &l.room[len(l.room)-1])
	}
	return l.All[n], fresh
}

// Get returns what a span has, nil where there was no record of it.
func (l *List[T]) Get(id trace.SpanID) *T {
	if n, found := l.index.at[id]; found {
		return l.All[n]
	}
	return nil
}

// index numbers spans in the order of their first records.
type index struct {
	at map[trace.SpanID]int
	n  int
}

func newIndex(room int) index { return index{at: make(map[trace.SpanID]int, room)} }

// place returns the number of a begin's or an end's span, and whether this is the first record of it. Records without a span each have a
// place of their own.
func (x *index) place(r *trace.Record) (n int, fresh bool) {
	if n, seen := x.at[r.Span]; seen {
		return n, false
	}
	n = x.n
	x.n++
	if r.Span != 0 {
		x.at[r.Span] = n
	}
	return n, true
}
