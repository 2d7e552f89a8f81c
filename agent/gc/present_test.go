package gc

import (
	"slices"
	"testing"
	"time"
)

// Each image pass tells what is there, also what it then removes: that is gone at the next.
func TestPresent(t *testing.T) {
	n := newNode()
	n.image("a", 1)
	n.image("b", 1)
	var told [][]string
	c, _ := newCollector(t, n, func(c *Config) {
		c.Present = func(ids []string, at time.Time) {
			slices.Sort(ids)
			told = append(told, ids)
			if at.IsZero() || at.After(time.Now()) {
				t.Errorf("told of %s", at)
			}
		}
	})
	if _, err := c.collectImages(t.Context(), "period", false); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !slices.Equal(told[0], []string{"a", "b"}) {
		t.Errorf("told %q", told)
	}
}
