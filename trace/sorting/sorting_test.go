package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

func TestKeys(t *testing.T) {
	got := sorting.Keys(map[string]int{"b": 1, "c": 2, "a": 3}, func(a, b *string) int { return cmp.Compare(*a, *b) })
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStable(t *testing.T) {
	type pair struct {
		key  int
		name string
	}
	for _, c := range []struct{ list, want []pair }{
		{nil, nil},
		{[]pair{{1, "a"}}, []pair{{1, "a"}}},
		{[]pair{{3, "a"}, {1, "b"}, {2, "c"}, {1, "d"}}, []pair{{1, "b"}, {1, "d"}, {2, "c"}, {3, "a"}}},
	} {
		got := slices.Clone(c.list)
		sorting.Stable(got, func(a, b *pair) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.list, got, c.want)
		}
	}
}
