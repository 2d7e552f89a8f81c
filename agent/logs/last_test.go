package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// TestLast: lines of both streams in order, at most n, each cut.
func TestLast(t *testing.T) {
	long := t1 + " stdout F " + strings.Repeat("x", 100<<10) + "\n"
	for _, c := range []struct {
		name, log string
		n         int
		want      []string
	}{
		{"all", sample(), 9, []string{"one", "two", "three", ""}},
		{"the last", sample(), 2, []string{"three", ""}},
		{"cut", sample() + long + t1 + " stdout F end\n", 2, []string{"xxxxxxxx", "end"}},
		{"unfinished", t1 + " stdout P half", 2, []string{"half"}},
		{"empty", "", 2, nil},
	} {
		path := filepath.Join(t.TempDir(), "0.log")
		if err := os.WriteFile(path, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Last(t.Context(), guestfile.New(guestfile.Config{}), path, c.n, 8)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, d)
		}
	}
}
