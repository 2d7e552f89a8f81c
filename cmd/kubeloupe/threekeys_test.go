//go:build unix

package main

import (
	"path/filepath"
	"testing"
)

// TestThreeKeys: from a shell, in a real pseudo-terminal of 80x24, the cause of what users meet most is at most three keys away. The recordings are
// of real faults on containerd.
func TestThreeKeys(t *testing.T) {
	for _, c := range []struct {
		fault, keys string
		want        []string
	}{
		{"registry-not-found", "w", []string{"cannot be pulled", "ImagePullBackOff"}},
		{"probe-readiness-503", "w", []string{"readiness probe of app fails", "HTTP status 503"}},
		{"oom-app", "w", []string{"out of memory", "its own memory"}},
		{"object-secret-missing", "w", []string{"secret default/password", "does not exist"}},
		{"cni-slow", "w", []string{"CNI ADD", "moody"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			if len(c.keys) > 3 {
				t.Fatal("more than three keys")
			}
			file, err := filepath.Abs(filepath.Join("..", "..", "test", "faultcorpus", "testdata", c.fault+".klr"))
			if err != nil {
				t.Fatal(err)
			}
			x := inTerminal(t, "tui", "--from", file)
			x.sees("FILE")
			x.sees("default/web")
			x.types(c.keys)
			x.sees("why default/web")
			for _, text := range c.want {
				x.sees(text)
			}
			x.types("q")
			if err := x.cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
