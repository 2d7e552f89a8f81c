package stats

import (
	"path/filepath"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxFileSystems limits the file systems that are reported, maxMounts the size of the kernel's list of mounts, in bytes.
const (
	maxFileSystems = 64
	maxMounts      = 4 << 20
)

// fileSystem is a mounted file system of a block device.
type fileSystem struct {
	device string
	fs     *statsapi.FsStats
}

// blockMount is where the file system of a block device is mounted, first of all places.
type blockMount struct{ device, at string }

// fileSystems returns the usage of the node's mounted file systems of block devices, each once, as far as they answer.
//
// Upstream: github.com/google/cadvisor/lib/fs/fs.go, processMounts, GetFsInfoForPath.
func (s *Stats) fileSystems(now time.Time) (out []fileSystem) {
	list, err := wholefile.Read(filepath.Join(s.cfg.Proc, "self", "mountinfo"), maxMounts)
	if err != nil {
		return nil
	}
	for _, m := range blockMounts(string(list)) {
		if fs, ok := s.mounts.ask(m.at, func() *statsapi.FsStats { return s.fsOf(m.at, now) }); ok && fs != nil && or0(fs.CapacityBytes) > 0 {
			out = append(out, fileSystem{m.device, fs})
		}
	}
	return out
}

// fsMetrics writes the usage of file systems: of the node, those of its block devices, or else the agent's; of containers, their writable
// layers, which have no inodes of their own.
func fsMetrics(page *exposition.Page, all []entity) {
	for _, m := range []struct {
		name, help string
		value      func(*statsapi.FsStats) *uint64
		node       bool // only the node has it
	}{
		{"container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.", func(f *statsapi.FsStats) *uint64 { return f.UsedBytes }, false},
		{"container_fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem.", func(f *statsapi.FsStats) *uint64 { return f.CapacityBytes }, false},
		{"container_fs_inodes_free", "Number of available Inodes", func(f *statsapi.FsStats) *uint64 { return f.InodesFree }, true},
		{"container_fs_inodes_total", "Number of Inodes", func(f *statsapi.FsStats) *uint64 { return f.Inodes }, true},
	} {
		page.Gauge(m.name, m.help)
		for i := range all {
			if x := &all[i]; !m.node || x.cgroup == top {
				for _, on := range x.disksOf() {
					if n := m.value(on.fs); n != nil {
						page.SampleOf(float64(*n), on.fs.Time.Time, x.labels, "device", on.device)
					}
				}
			}
		}
	}
}

// disksOf returns the file systems of an entity.
func (x *entity) disksOf() []fileSystem {
	if len(x.fileSystems) == 0 && x.stats.Rootfs != nil {
		return []fileSystem{{fs: x.stats.Rootfs}}
	}
	return x.fileSystems
}
