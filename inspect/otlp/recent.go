package otlp

// recent is a map with a maximum size that drops the oldest entries.
type recent[K comparable, V any] struct {
	m    map[K]V
	ring []K
	next int
}

func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{m: map[K]V{}, ring: make([]K, 0, n)}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	v, ok := r.m[k]
	return v, ok
}

// set adds or replaces an entry.
func (r *recent[K, V]) set(k K, v V) {
	if _, ok := r.m[k]; ok {
		r.m[k] = v
		return
	}
	r.put(k, v)
}

// put adds an entry that is not there yet and returns the one that it dropped.
func (r *recent[K, V]) put(k K, v V) (old V, full bool) {
	if len(r.ring) < cap(r.ring) {
		r.ring = append(r.ring, k)
	} else {
		old, full = r.m[r.ring[r.next]], true
		delete(r.m, r.ring[r.next])
		r.ring[r.next] = k
		r.next = (r.next + 1) % len(r.ring)
	}
	r.m[k] = v
	return old, full
}
