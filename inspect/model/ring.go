package model

// ring keeps the last max values put into it.
type ring[T any] struct {
	items []T
	next  int // where the next one goes, once full
	max   int
}

func newRing[T any](size int) ring[T] { return ring[T]{max: size} }

// push adds v and returns what it displaced.
func (r *ring[T]) push(v T) (old T, displaced bool) {
	if len(r.items) < r.max {
		r.items = append(r.items, v)
		return old, false
	}
	old, r.items[r.next] = r.items[r.next], v
	r.next = (r.next + 1) % r.max
	return old, true
}

func (r *ring[T]) len() int { return len(r.items) }

// drop removes what matches.
func (r *ring[T]) drop(match func(T) bool) {
	kept := r.items[:0:0]
	r.each(func(v T) {
		if !match(v) {
			kept = append(kept, v)
		}
	})
	r.items, r.next = kept, 0
}

// each visits from the oldest to the newest.
func (r *ring[T]) each(f func(T)) {
	for _, v := range r.items[r.next:] {
		f(v)
	}
	for _, v := range r.items[:r.next] {
		f(v)
	}
}

// back visits from the newest to the oldest until f returns false.
func (r *ring[T]) back(f func(T) bool) {
	n := len(r.items)
	for i := range n {
		if !f(r.items[(r.next-1-i+2*n)%n]) {
			return
		}
	}
}

// list returns a copy, oldest first.
func (r *ring[T]) list() []T {
	out := make([]T, 0, len(r.items))
	r.each(func(v T) { out = append(out, v) })
	return out
}
