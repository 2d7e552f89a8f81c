// Package ring keeps the last of many values. It owns nothing else, runs no goroutine and publishes nothing.
package ring

// Ring keeps the last max values put into it.
type Ring[T any] struct {
	items []T // in a circle; their number grows up to max
	from  int // the index of the oldest
	n     int
	max   int
}

// New returns an empty ring.
func New[T any](size int) Ring[T] { return Ring[T]{max: size} }

// Push adds v and returns the element that it replaced.
func (r *Ring[T]) Push(v T) (old T, displaced bool) {
	switch {
	case r.n == r.max:
		old, r.items[r.from] = r.items[r.from], v
		if r.from++; r.from == r.max {
			r.from = 0
		}
		return old, true
	case r.n < len(r.items):
		r.items[r.index(r.n)] = v
	case r.from == 0:
		r.items = append(r.items, v)
	default:
		r.items, r.from = append(r.List(), v), 0
	}
	r.n++
	return old, false
}

// Pop removes and returns the newest item. The ring must not be empty.
func (r *Ring[T]) Pop() (newest T) {
	var none T
	r.n--
	i := r.index(r.n)
	newest, r.items[i] = r.items[i], none
	return newest
}

// index is where the i-th is; i is below the number of places.
func (r *Ring[T]) index(i int) int {
	if i += r.from; i >= len(r.items) {
		i -= len(r.items)
	}
	return i
}

// Len returns the number of items.
func (r *Ring[T]) Len() int { return r.n }

// At returns item i; 0 is the oldest.
func (r *Ring[T]) At(i int) T { return r.items[r.index(i)] }

// Drop removes the items that match.
func (r *Ring[T]) Drop(match func(T) bool) {
	kept := r.items[:0:0]
	r.Each(func(v T) {
		if !match(v) {
			kept = append(kept, v)
		}
	})
	r.items, r.from, r.n = kept, 0, len(kept)
}

// Halve removes the older half.
func (r *Ring[T]) Halve() {
	left := r.n / 2
	r.Drop(func(T) bool { left--; return left >= 0 })
}

// Each calls f for each item, from the oldest to the newest.
func (r *Ring[T]) Each(f func(T)) {
	for i := range r.n {
		f(r.At(i))
	}
}

// Back calls f from the newest item to the oldest until f returns false.
func (r *Ring[T]) Back(f func(T) bool) {
	for i := range r.n {
		if !f(r.At(r.n - 1 - i)) {
			return
		}
	}
}

// List returns a copy of the items, oldest first.
func (r *Ring[T]) List() []T {
	out := make([]T, 0, r.n)
	r.Each(func(v T) { out = append(out, v) })
	return out
}
