package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

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
