package stats

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// ownFiles returns the disk usage of what a pod has beside its containers and volumes: its hosts file, to which the root users of its
// containers can write, and the files directly in its log directory.
//
// Upstream: pkg/kubelet/stats/host_stats_provider.go, getPodEtcHostsStats, getPodLogStats.
func (s *Stats) ownFiles(uid types.UID, seen *podstate.Pod) held {
	h := fileUsage(filepath.Join(s.cfg.RootDir, "pods", string(uid), "etc-hosts"))
	if dir := logsOf(seen); dir != "" {
		h.add(filesIn(dir))
	}
	return h
}

// logsOf returns the log directory of a pod, above those of its containers; "" if it has none yet.
func logsOf(seen *podstate.Pod) string {
	if seen == nil {
		return ""
	}
	for i := range seen.Containers {
		if at := seen.Containers[i].LogPath; at != "" {
			return filepath.Dir(filepath.Dir(at))
		}
	}
	return ""
}

func (h *held) add(more held) {
	h.bytes += more.bytes
	h.inodes += more.inodes
}
