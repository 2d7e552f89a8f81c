// Package sorting sorts values by their addresses. slices.SortFunc is linked again for each type of values, 11 to 23 kB of the program each;
// a sort of addresses is linked once. Large values are moved once, not at each step.
//
// It publishes no trace events.
package sorting

import "slices"

// Keys returns the keys of a map, sorted. compare must not change or keep what it gets.
func Keys[K comparable, V any](of map[K]V, compare func(a, b *K) int) []K {
	out := make([]K, 0, len(of))
	for k := range of {
		out = append(out, k)
	}
	Stable(out, compare)
	return out
}

// Stable sorts a list in place. Values that compare as equal stay in their order. compare must not change or keep what it gets.
func Stable[T any](list []T, compare func(a, b *T) int) {
	from := slices.Clone(list)
	at := make([]*T, len(from))
	for i := range from {
		at[i] = &from[i]
	}
	slices.SortStableFunc(at, compare)
	for i, v := range at {
		list[i] = *v
	}
}
