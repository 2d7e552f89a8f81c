package human_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"web", "web", 0}, {"web", "wep", 1}, {"web", "", 3}, {"", "web", 3}, {"kitten", "sitting", 3}} {
		if got := human.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
