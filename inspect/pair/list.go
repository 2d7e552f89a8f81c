package pair

import "github.com/kubeloupe/kubeloupe/trace"

// List has a T for each span, shared by its begin and end, in the order of the first records. Create it with NewList.
type List[T any] struct {
	All   []*T
	index index
	room  []T // for future ones
}

// NewList returns an empty list with room for that many spans.
func NewList[T any](room int) List[T] {
	return List[T]{All: make([]*T, 0, room), index: newIndex(room), room: make([]T, 0, room)}
}

// Of returns the value of the span of a begin or an end, and whether this is its first record.
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

// Get returns the value of a span, nil if there was no record of it.
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

// place returns the number of a record's span, and whether this is its first record. Each record without a span has its
// own number.
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
