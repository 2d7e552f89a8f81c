// Package ring keeps the last of many values. It owns nothing else, runs no goroutine and publishes nothing.
package ring

// Ring keeps the last max values put into it.
type Ring[T any] struct {
	items []T
	next  int // where the next one goes, once full
	max   int
}

// New returns an empty ring.
func New[T any](size int) Ring[T] { return Ring[T]{max: size} }

// Push adds v and returns what it displaced.
func (r *Ring[T]) Push(v T) (old T, displaced bool) {
	if len(r.items) < r.max {
		r.items = append(r.items, v)
		return old, false
	}
	old, r.items[r.next] = r.items[r.next], v
	r.next = (r.next + 1) % r.max
	return old, true
}

// Len is how many there are.
func (r *Ring[T]) Len() int { return len(r.items) }

// Drop removes what matches.
func (r *Ring[T]) Drop(match func(T) bool) {
	kept := r.items[:0:0]
	r.Each(func(v T) {
		if !match(v) {
			kept = append(kept, v)
		}
	})
	r.items, r.next = kept, 0
}

// Each visits from the oldest to the newest.
func (r *Ring[T]) Each(f func(T)) {
	for _, v := range r.items[r.next:] {
		f(v)
	}
	for _, v := range r.items[:r.next] {
		f(v)
	}
}

// Back visits from the newest to the oldest until f returns false.
func (r *Ring[T]) Back(f func(T) bool) {
	n := len(r.items)
	for i := range n {
		if !f(r.items[(r.next-1-i+2*n)%n]) {
			return
		}
	}
}

// List returns a copy, oldest first.
func (r *Ring[T]) List() []T {
	out := make([]T, 0, len(r.items))
	r.Each(func(v T) { out = append(out, v) })
	return out
}
