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
	from := make([]T, len(list))
	copy(from, list)
	for i, at := range order(len(list), func(a, b *int) int { return compare(&from[*a], &from[*b]) }) {
		list[i] = from[*at]
	}
}

// order returns the places of n values in their order. It is linked once, whatever the values are, and sorts addresses as others do.
func order(n int, compare func(a, b *int) int) []*int {
	places, at := make([]int, n), make([]*int, n)
	for i := range places {
		places[i] = i
		at[i] = &places[i]
	}
	slices.SortStableFunc(at, compare)
	return at
}
