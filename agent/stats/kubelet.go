package stats

import (
	"context"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// KubeletMetrics adds the usage of claims' volumes and of containers' logs, as the kubelet's own metrics have it, and how long it took to get
// such figures. It makes no call to the runtime. What is not known within a second is omitted.
//
// Upstream: pkg/kubelet/metrics/collectors/volume_stats.go and log_metrics.go.
func (s *Stats) KubeletMetrics(ctx context.Context, page *exposition.Page) {
	until, cancel := context.WithTimeout(ctx, walksWait)
	defer cancel()
	w, now, pods := walks{until: until}, time.Now(), s.cfg.Pods()
	s.collected.metrics(page)
	s.claimMetrics(w, page, pods, now)
	page.Gauge("kubelet_container_log_filesystem_used_bytes", "Bytes used by the container's logs on the filesystem.")
	for i := range pods {
		p := &pods[i]
		seen := s.cfg.Observed(p.UID)
		for c := range podspec.Each(p) {
			o := seen.Newest(c.Name)
			if o == nil || o.State != podstate.Running || o.LogPath == "" {
				continue
			}
			if h, ok := s.usage.of(w, filepath.Dir(o.LogPath), now); ok {
				page.Sample(float64(h.bytes), time.Time{}, "container", o.Name, "namespace", p.Namespace, "pod", p.Name, "uid", string(p.UID))
			}
		}
	}
}

// claimMetrics adds each claim once.
func (s *Stats) claimMetrics(w walks, page *exposition.Page, pods []v1.Pod, now time.Time) {
	claims := map[statsapi.PVCReference]statsapi.FsStats{}
	for i := range pods {
		p := &pods[i]
		var at map[string]Volume
		for j := range p.Spec.Volumes {
			v := &p.Spec.Volumes[j]
			ref := claimOf(p, v)
			if ref == nil {
				continue
			}
			if _, known := claims[*ref]; known {
				continue
			}
			if at == nil {
				at = s.cfg.Volumes(p)
			}
			if out, _, ok := s.volume(w, p, v, at[v.Name], now); ok {
				claims[*ref] = out.FsStats
			}
		}
	}
	for _, m := range []struct {
		name, help string
		value      func(*statsapi.FsStats) *uint64
	}{
		{"capacity_bytes", "Capacity in bytes of the volume", func(f *statsapi.FsStats) *uint64 { return f.CapacityBytes }},
		{"available_bytes", "Number of available bytes in the volume", func(f *statsapi.FsStats) *uint64 { return f.AvailableBytes }},
		{"used_bytes", "Number of used bytes in the volume", func(f *statsapi.FsStats) *uint64 { return f.UsedBytes }},
		{"inodes", "Maximum number of inodes in the volume", func(f *statsapi.FsStats) *uint64 { return f.Inodes }},
		{"inodes_free", "Number of free inodes in the volume", func(f *statsapi.FsStats) *uint64 { return f.InodesFree }},
		{"inodes_used", "Number of used inodes in the volume", func(f *statsapi.FsStats) *uint64 { return f.InodesUsed }},
	} {
		page.Gauge("kubelet_volume_stats_"+m.name, m.help)
		for ref, fs := range claims {
			if n := m.value(&fs); n != nil {
				page.Sample(float64(*n), time.Time{}, "namespace", ref.Namespace, "persistentvolumeclaim", ref.Name)
			}
		}
	}
}
