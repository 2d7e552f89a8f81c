package say

import (
	"fmt"
	"testing"
)

func TestIDs(t *testing.T) {
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprint(i))
	}
	for _, c := range []struct {
		ids  []string
		all  int
		want string
	}{
		{nil, 0, ""},
		{nil, 3, "3"},
		{[]string{"g0"}, 1, "g0"},
		{[]string{"g3", "g1", "g0", "g7", "g1"}, 5, "g[0-1,3,7]"},
		{[]string{"nic007", "nic008", "nic010", "gpu"}, 4, "gpu nic010 nic00[7-8]"},
		{[]string{"a00", "a01", "a0"}, 3, "a0 a0[0-1]"},
		{[]string{"GPU-3f", "GPU-12345678901"}, 2, "GPU-12345678901 GPU-3f"},
		{[]string{"g0", "g1"}, 20, "g[0-1] and 18 more"},
		{many, len(many), "0-9999"},
	} {
		if got := IDs(c.ids, c.all); got != c.want {
			t.Errorf("%d IDs: %q, want %q", len(c.ids), got, c.want)
		}
	}
}
