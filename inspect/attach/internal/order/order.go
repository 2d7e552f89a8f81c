// Package order puts what comes a little out of order into the order of its time.
//
// It owns nothing but what waits, and that is bounded. It runs no goroutine.
package order

import (
	"cmp"
	"container/heap"
	"time"
)

// Queue hands out what came in the order of its time. Of what came later than that allows the time stays as it is. It is for one goroutine.
type Queue[T any] struct {
	// Hold is how long something waits for what may come before it, by the times that come.
	Hold time.Duration
	// Most is how many wait: of more, the first does not.
	Most int
	// Size, if it is set, is how many bytes something has. Of more than MaxBytes together, the first does not wait.
	Size func(T) int
	// Last is the latest time that came, in Unix nanoseconds. Zero it where times begin anew.
	Last int64

	all   items[T]
	anew  int // how often times began anew
	n     int
	bytes int
}

// MaxBytes is how many bytes wait in a queue at most, beside the latest that came.
const MaxBytes = 16 << 20

type item[T any] struct {
	anew int
	at   int64
	n    int
	size int
	v    T
}

type items[T any] []item[T]

func (h items[T]) Len() int { return len(h) }
func (h items[T]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].anew, h[j].anew), cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].n, h[j].n)) < 0
}
func (h items[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *items[T]) Push(x any) {
	if v, ok := x.(item[T]); ok {
		*h = append(*h, v)
	}
}

func (h *items[T]) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	(*h)[last] = item[T]{}
	*h = (*h)[:last]
	return v
}

// Anew says that times begin anew, as where a clock was set back: what waits comes before all that follows, and is due.
func (o *Queue[T]) Anew() { o.anew, o.Last = o.anew+1, 0 }

// Add takes something in.
func (o *Queue[T]) Add(at int64, v T) {
	o.n++
	size := 0
	if o.Size != nil {
		size = o.Size(v)
	}
	o.bytes += size
	heap.Push(&o.all, item[T]{anew: o.anew, at: at, n: o.n, size: size, v: v})
	o.Last = max(o.Last, at)
}

// Next returns what is due; all says that nothing more will come before it.
func (o *Queue[T]) Next(all bool) (v T, ok bool) {
	if len(o.all) == 0 || !all && o.all[0].anew == o.anew && len(o.all) <= o.Most && o.bytes <= MaxBytes && o.all[0].at > o.Last-int64(o.Hold) {
		return v, false
	}
	it, _ := heap.Pop(&o.all).(item[T])
	o.bytes -= it.size
	return it.v, true
}
