package kubeletlog

import (
	"container/heap"
	"time"
)

// ordered hands out what came in the order of its time. Of what came later than that allows the time stays as it is.
type ordered[T any] struct {
	all  items[T]
	hold time.Duration // how long something waits for what may come before it, by the time in the log
	most int           // how many wait
	n    int
	last int64 // the latest time that came
}

type item[T any] struct {
	at int64
	n  int
	v  T
}

type items[T any] []item[T]

func (h items[T]) Len() int { return len(h) }
func (h items[T]) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
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

func (o *ordered[T]) add(at int64, v T) {
	o.n++
	heap.Push(&o.all, item[T]{at: at, n: o.n, v: v})
	o.last = max(o.last, at)
}

// next returns what is due; all says that nothing more will come before it.
func (o *ordered[T]) next(all bool) (v T, ok bool) {
	if len(o.all) == 0 || !all && len(o.all) <= o.most && o.all[0].at > o.last-int64(o.hold) {
		return v, false
	}
	it, _ := heap.Pop(&o.all).(item[T])
	return it.v, true
}
