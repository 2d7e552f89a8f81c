package criconfig

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Node is the data about the node and the agent's configuration that the translation needs. It is the same for every pod; the
// caller must not change it while it is in use.
type Node struct {
	// LogRoot is the directory of all pods' logs; "" means /var/log/pods.
	LogRoot string
	// ClusterDomain is the suffix of the pods' DNS names, for example cluster.local.
	ClusterDomain string
	// MemoryCapacity is the node's memory in bytes, for oom_score_adj.
	MemoryCapacity int64
	// Allocatable replaces limits that a container does not set, in resourceFieldRef.
	Allocatable v1.ResourceList
	// CFSQuota says whether CPU limits are enforced; CFSPeriod is the period, 0 means 100 ms.
	CFSQuota  bool
	CFSPeriod time.Duration
	// SeccompDefault runs containers without a profile as RuntimeDefault instead of Unconfined.
	SeccompDefault bool
	// SeccompRoot is the directory of localhost seccomp profiles.
	SeccompRoot string
	// SELinux says whether the node enforces SELinux; without it no mount is relabeled.
	SELinux bool
	// RecursiveReadOnly says whether the runtime can mount recursively read-only.
	RecursiveReadOnly bool
	// HugePageSizes are the page sizes of the kernel, such as 2MB. A size that a container does not request is limited to 0.
	HugePageSizes []string
	// MaskedPaths are masked in addition to the fixed list, such as each CPU's thermal_throttle directory under
	// /sys/devices/system/cpu.
	MaskedPaths []string
	// Unified are cgroup v2 files for every container, such as memory.oom.group=1.
	Unified map[string]string
	// SwapAccounting says whether cgroup v1 counts swap (memory.memsw.*), so that swap can be disabled for a container.
	// On cgroup v2, memory.swap.max=0 in Unified does that.
	SwapAccounting bool
}

func (n Node) period() time.Duration {
	if n.CFSPeriod <= 0 {
		return 100 * time.Millisecond
	}
	return n.CFSPeriod
}
