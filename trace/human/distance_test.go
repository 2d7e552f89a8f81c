package human_test

import (
	"strings"
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

func TestNearest(t *testing.T) {
	names := []string{"start", "ready", "err", "wait", "wait.queue", "NotFound"}
	for wrong, want := range map[string]string{
		"strat": "start", "sta": "start", "error": "err", "wait.qeue": "wait.queue", "notfond": "NotFound", "READY": "ready",
		"x": "", "": "", "moon": "", strings.Repeat("start", 13): "",
	} {
		if got := human.Nearest(wrong, names); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}
