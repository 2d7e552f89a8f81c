package criconfig

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
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
	// RecursiveReadOnly says whether the pod's runtime handler can mount recursively read-only.
	RecursiveReadOnly bool
	// HugePageSizes are the page sizes of the kernel, such as 2MB. A size that a container does not request is limited to 0.
	HugePageSizes []string
	// MaskedPaths are masked in addition to the fixed list, such as each CPU's thermal_throttle directory under
	// /sys/devices/system/cpu.
	MaskedPaths []string
	// CgroupV2 says that the node has cgroup v2, so that its files can be set (Unified in the CRI).
	CgroupV2 bool
	// SingleProcessOOMKill kills one process of a container that runs out of memory, instead of all. v1 always does this.
	SingleProcessOOMKill bool
	// MemoryQoS protects and throttles memory on cgroup v2; nil if the feature gate is off.
	MemoryQoS *qos.MemoryPolicy
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
	// PodMemory is the node's memory without the reservations for the system, in bytes.
	PodMemory int64
	// Sysctls are set in each pod that has the namespace that they belong to (defaultPodSysctls); a pod's own override them.
	Sysctls map[string]string
	// Swap is the swap that containers may use.
	Swap Swap
	// StopSignals says that lifecycle.stopSignal has an effect: feature gate ContainerStopSignals.
	StopSignals bool
}

// MaySwap reports whether a container may use swap on the node.
func (n Node) MaySwap(pod *v1.Pod, c *v1.Container) bool {
	return n.CgroupV2 && n.Swap.Accounting && n.Swap.Limited && qos.MaySwap(pod, c)
}

// Swap is the swap of the node and its use by containers.
type Swap struct {
	// Accounting says whether cgroups count swap. Otherwise it cannot be limited.
	Accounting bool
	// Limited lets containers of Burstable pods use a part of it, on cgroup v2: swapBehavior LimitedSwap.
	Limited bool
	// Capacity is in bytes.
	Capacity int64
}

func (n Node) period() time.Duration {
	if n.CFSPeriod <= 0 {
		return 100 * time.Millisecond
	}
	return n.CFSPeriod
}
