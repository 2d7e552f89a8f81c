package cgroup

import (
	"path/filepath"
	"slices"
	"strings"
)

// Unified reports whether mount (usually /sys/fs/cgroup) is cgroup v2.
func Unified(mount string) bool { return exists(mount, "cgroup.controllers") }

// LimitsCPU reports whether the kernel can limit the CPU time of the cgroups at mount. A kernel with cgroup v1 may lack this.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, validateSystemRequirements.
func LimitsCPU(mount string) bool {
	v2, tree, err := detect(mount)
	i := slices.IndexFunc(tree, func(h hierarchy) bool { return h.has("cpu") })
	return err != nil || v2 || i < 0 || exists(tree[i].dir, "cpu.cfs_period_us") && exists(tree[i].dir, "cpu.cfs_quota_us")
}

// CountsSwap reports whether the cgroups at mount count swap, so that it can be limited. On v2 the root has no such
// file: it looks at the agent's own cgroup, which is in proc/self/cgroup below root, and then at those below the root.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, checkSwapControllerAvailability.
func CountsSwap(mount, root string) bool {
	if !Unified(mount) {
		return exists(mount, "memory/memory.memsw.limit_in_bytes")
	}
	const file = "memory.swap.max"
	text, err := read(filepath.Join(root, "proc/self/cgroup"))
	if err == nil {
		for line := range strings.Lines(text) {
			if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && exists(mount, filepath.Join(own, file)) {
				return true
			}
		}
	}
	found, err := filepath.Glob(filepath.Join(mount, "*", file))
	return err == nil && len(found) > 0
}
