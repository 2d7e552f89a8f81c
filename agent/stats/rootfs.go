package stats

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// layers are the file systems of containers' writable layers, for one summary: images and layers can have different disks.
type layers struct {
	// images is that of images, which counts if the runtime does not say where a layer is.
	images *statsapi.FsStats
	known  map[string]*statsapi.FsStats // by mount point; nil if it is not on this machine
}

// rootfs returns the usage of a container's writable layer.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go, makeContainerStats.
func (s *Stats) rootfs(all *layers, layer *runtimeapi.FilesystemUsage, now time.Time) *statsapi.FsStats {
	fs, at := all.images, layer.GetFsId().GetMountpoint()
	if at != "" {
		known := false
		if fs, known = all.known[at]; !known {
			fs = s.fsOf(at, now)
			all.known[at] = fs
		}
	}
	out := on(fs, value(layer.UsedBytes), value(layer.InodesUsed), now)
	out.Time = stamp(layer.Timestamp, now)
	return out
}
