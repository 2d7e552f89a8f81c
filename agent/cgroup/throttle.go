package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Throttling is how a CPU limit has held a cgroup back since it was made.
type Throttling struct {
	// Periods is in how many periods of the limit there was something to run, Throttled in how many it was used up.
	Periods, Throttled int64
	// Stopped is how long threads were stopped for it, added up over the processors.
	Stopped time.Duration
}

// Throttling returns the figures of a container of the pod and those of the pod itself: a limit of the pod stops its containers too, and
// only the pod's figures say so. They are zero where there is no limit or no such cgroup. It reads two files and one directory.
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

// containerDir is the cgroup of a container directly below its pod's: ID, or cri-containerd-ID.scope and the like; "" for none.
func containerDir(top, id string) string {
	entries, err := os.ReadDir(top)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.IsDir() && (e.Name() == id || strings.HasSuffix(e.Name(), "-"+id+".scope")) {
			return filepath.Join(top, e.Name())
		}
	}
	return ""
}

// readThrottling is zero without a limit: then the kernel counts no periods.
func readThrottling(dir string) (t Throttling) {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return t
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch key {
		case "nr_periods":
			t.Periods = n
		case "nr_throttled":
			t.Throttled = n
		case "throttled_time": // v1
			t.Stopped = time.Duration(n)
		case "throttled_usec": // v2
			t.Stopped = time.Duration(min(n, 1<<53)) * time.Microsecond
		}
	}
	return t
}
