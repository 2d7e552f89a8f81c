package gc

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Each image pass reports the existing images, including those that it then removes: they are missing in the next one.
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
	if _, err := c.collectImages(t.Context(), trace.GCPeriod, false); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !slices.Equal(told[0], []string{"a", "b"}) {
		t.Errorf("told %q", told)
	}
}

// The image of a volume is in use, even if no container uses it.
func TestVolumeImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		n.image("a", 1)
		n.image("b", 1)
		n.image("c", 1)
		c, _ := newCollector(t, n, func(c *Config) { c.VolumeImages = func() []string { return []string{"a", "r.io/b:v1"} } })
		removed := 0
		for range 2 { // an image that was just seen is kept
			sum, err := c.DeleteUnused(t.Context())
			if err != nil {
				t.Error(err)
			}
			removed += sum.Removed
			time.Sleep(time.Hour)
		}
		if removed != 1 || n.images["a"] == nil || n.images["b"] == nil {
			t.Errorf("%d removed; left %v", removed, n.images)
		}
	})
}
