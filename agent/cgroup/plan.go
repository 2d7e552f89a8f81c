package cgroup

import (
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// demand is what the pods together request: it determines the limits of the tiers.
type demand struct {
	shares                int64 // of the Burstable pods' CPUs
	guaranteed, burstable int64 // bytes of memory
}

func demandOf(pods []*v1.Pod, claims qos.Claims) demand {
	d := demand{shares: qos.BurstableShares(pods, claims)}
	d.guaranteed, d.burstable = qos.MemoryRequests(pods, claims)
	return d
}

// planTiers returns the limits of the tiers, in the order of tiers.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups;
// pkg/kubelet/cm/qos_container_manager_linux.go, Start and UpdateCgroups.
func (c *Config) planTiers(d demand) []limits {
	all, burstable, bestEffort := c.planNode(c.Node), limits{}, limits{}
	burstable.CPUShares, bestEffort.CPUShares = max(d.shares, qos.MinShares), qos.MinShares
	all.unified = map[string]string{qos.MemoryMin: "0", qos.MemoryLow: "0"}
	burstable.unified = map[string]string{qos.MemoryLow: "0"}
	if c.MemoryQoS != nil && c.MemoryQoS.Tiered {
		// The protection of a pod has no effect unless its parents are protected too.
		all.unified[qos.MemoryMin] = strconv.FormatInt(d.guaranteed+d.burstable, 10)
		all.unified[qos.MemoryLow] = strconv.FormatInt(d.burstable, 10)
		burstable.unified[qos.MemoryLow] = all.unified[qos.MemoryLow]
	}
	if c.QOSReserved != nil && c.Allocatable > 0 {
		left := c.Allocatable - d.guaranteed**c.QOSReserved/100
		burstable.Memory = new(left)
		bestEffort.Memory = new(left - d.burstable**c.QOSReserved/100)
	}
	out := []limits{all, burstable, bestEffort}
	for i := range out {
		out[i].pageSizes, out[i].unlimitedPages = c.HugePageSizes, true
	}
	return out
}

// planNode returns the limits of a share of the node.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, getCgroupConfig.
func (c *Config) planNode(l Limits) limits {
	out := limits{pids: l.Pids, cpus: c.CPUs, pageSizes: c.HugePageSizes}
	out.Memory = new(l.Memory)
	if l.MilliCPU > 0 {
		out.CPUShares = qos.Shares(l.MilliCPU)
	}
	return out
}

// planReserved returns the limits of a cgroup of the system. Huge pages are not for the system.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceExistingCgroup.
func (c *Config) planReserved(r Reserved) limits {
	l := r.Limits
	if r.Compressible {
		l = Limits{MilliCPU: l.MilliCPU}
	}
	out := c.planNode(l)
	if c.MemoryQoS != nil && l.Memory > 0 {
		out.unified = map[string]string{qos.MemoryMin: strconv.FormatInt(l.Memory, 10)}
	}
	return out
}

// planPod returns the limits of a pod.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, EnsureExists.
func (c *Config) planPod(pod *v1.Pod) limits {
	quota := c.CFSQuota && (c.OwnCPUs == nil || !c.OwnCPUs(pod.UID))
	return limits{
		Resources: qos.PodResources(pod, c.Claims, quota, c.CFSPeriod), pids: c.PodPidsLimit, pageSizes: c.HugePageSizes,
		unified: c.MemoryQoS.Pod(pod),
	}
}

// planResize returns limits of a pod that is resized to r. While the limit of its memory is not yet the final one,
// memory.high stays, because it could be far below the use.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doPodResizeAction.
func (c *Config) planResize(pod *v1.Pod, r qos.Resources) limits {
	out := c.planPod(pod)
	final, _ := out.memory()
	out.Resources = r
	if now, _ := out.memory(); now != final {
		out.unified = maps.Clone(out.unified)
		delete(out.unified, qos.MemoryHigh)
	}
	return out
}

// same reports whether two plans give the same files.
func same(a, b limits, v2 bool) bool { return slices.Equal(a.settings(v2), b.settings(v2)) }
