package stats

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// The sources of the figures of volumes and other directories have upstream's names; a CSI driver has its own.
const (
	byWalk   = "du"
	byQuota  = "fsquota"
	byFS     = "statfs"
	byDevice = "block"
)

// maxSources limits the sources: drivers choose their names. Further ones are other.
const maxSources = 64

// collected counts how long it took to get figures, by source. Safe for concurrent use; nil counts nothing.
//
// Upstream: pkg/kubelet/server/metrics/metrics.go, CollectVolumeStatCalDuration.
type collected struct {
	mu sync.Mutex
	by map[string]*exposition.Durations
}

// from counts what began then and has ended.
func (c *collected) from(source string, began time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]*exposition.Durations{}
	}
	if c.by[source] == nil && len(c.by) >= maxSources {
		source = "other"
	}
	d := c.by[source]
	if d == nil {
		d = &exposition.Durations{}
		c.by[source] = d
	}
	d.Add(time.Since(began))
}

func (c *collected) metrics(page *exposition.Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page.Histogram("kubelet_volume_metric_collection_duration_seconds", "How long it took to get the usage of volumes and other directories, by source; walks (du) are in the background.")
	for _, source := range slices.Sorted(maps.Keys(c.by)) {
		page.Durations(*c.by[source], "metric_source", source)
	}
}
