//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPager: long text on a terminal goes through the pager; one that does not exist, and --no-pager, leave it as it is; and it ends with
// its headline.
func TestPager(t *testing.T) {
	from, err := filepath.Abs(filepath.Join("..", "..", "tui", "testdata", "recordings", "sim.klr"))
	if err != nil {
		t.Fatal(err)
	}
	pod := podsIn(t, from)[0]
	for name, c := range map[string]struct {
		pager string
		args  []string
		paged bool
		lines int // 0: more than a terminal has
	}{
		"a pager":          {pager: "sed s/^/PAGED:/", paged: true},
		"none exists":      {pager: "no-such-pager-exists -x"},
		"--no-pager":       {pager: "sed s/^/PAGED:/", args: []string{"--no-pager"}},
		"--short is short": {pager: "sed s/^/PAGED:/", args: []string{"--short"}, lines: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(pagerEnv, c.pager)
			x := inTerminal(t, append([]string{"why", pod, "--from", from}, c.args...)...)
			x.over()
			text := strings.TrimSpace(strings.ReplaceAll(x.said(), "\r", ""))
			lines := strings.Split(text, "\n")
			head := strings.TrimPrefix(lines[0], "PAGED:")
			if paged := head != lines[0]; paged != c.paged {
				t.Errorf("paged %t, want %t:\n%s", paged, c.paged, text)
			}
			if c.lines != 0 {
				if len(lines) < c.lines || strings.Contains(text, "CAUSES") {
					t.Errorf("want %d lines:\n%s", c.lines, text)
				}
				return
			}
			if n := strings.Count(text, head); len(lines) <= 24 || n != 2 {
				t.Errorf("%d lines with the headline %d times, want it twice:\n%s", len(lines), n, text)
			}
		})
	}
}
