package cgroup

import (
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace/usage"
)

// Throttling is how much a CPU limit has throttled a cgroup since its creation.
type Throttling = usage.Throttling

// Throttling returns the figures of a container of the pod and those of the pod itself: a limit of the pod also
// throttles its containers, and only the pod's figures show this. They are zero if there is no limit or no such cgroup.
// It reads two files and one directory.
func (m *Manager) Throttling(pod *v1.Pod, containerID string) (container, whole Throttling) {
	if m == nil || containerID == "" || checkUID(pod.UID) != nil {
		return container, whole
	}
	for _, h := range m.tree {
		if !h.has("cpu") {
			continue
		}
		top := filepath.Join(h.dir, m.PodParent(pod))
		if dir := containerDir(top, containerID); dir != "" {
			return readThrottling(dir), readThrottling(top)
		}
	}
	return container, whole
}

// containerDir returns the cgroup of a container directly below its pod's: ID, crio-ID, or for example cri-containerd-ID.scope;
// "" for none.
func containerDir(top, id string) string {
	entries, err := os.ReadDir(top)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.IsDir() && (e.Name() == id || e.Name() == "crio-"+id || strings.HasSuffix(e.Name(), "-"+id+".scope")) {
			return filepath.Join(top, e.Name())
		}
	}
	return ""
}

// readThrottling returns zero without a limit: the kernel then counts no periods.
func readThrottling(dir string) Throttling {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return Throttling{}
	}
	return usage.ParseThrottling(text)
}
