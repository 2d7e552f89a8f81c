package criconfig

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

const memorySwapMax = "memory.swap.max"

// Resources returns the limits of a container's cgroup. If the container sets none, the pod-level limit applies. With
// exclusiveCPUs, there is no CPU quota. What claims have adds to the limits that the container sets, and never to its CPU request.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, generateLinuxContainerResources.
func Resources(pod *v1.Pod, c *v1.Container, node Node, exclusiveCPUs bool) *runtimeapi.LinuxContainerResources {
	cpuLimit := limitOf(pod, c, v1.ResourceCPU)
	cpuRequest, ok := c.Resources.Requests[v1.ResourceCPU]
	if !ok {
		cpuRequest = cpuLimit
	}
	claimed := node.Claims.Container(pod, c.Name)
	cpuLimit = withClaimed(cpuLimit, c, v1.ResourceCPU, claimed)
	memory := withClaimed(limitOf(pod, c, v1.ResourceMemory), c, v1.ResourceMemory, claimed)
	r := linuxResources(cpuRequest, cpuLimit, memory, node)
	if exclusiveCPUs && node.CFSQuota {
		r.CpuQuota = -1
	}
	r.OomScoreAdj = int64(qos.OOMScoreAdj(pod, node.Claims, c, node.MemoryCapacity))
	r.HugepageLimits = hugePages(pod, c, node, claimed)
	limitSwap(r, pod, c, node)
	if node.CgroupV2 {
		for file, value := range node.MemoryQoS.Container(pod, c, node.PodMemory) {
			unified(r, file, value)
		}
	}
	return r
}

// sandboxResources returns the pod's sums without overhead, and the overhead alone, as information for the runtime: the
// limits themselves are set on the pod's cgroup.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox_linux.go, applySandboxResources.
func sandboxResources(pod *v1.Pod, node Node, exclusiveCPUs bool) (sum, overhead *runtimeapi.LinuxContainerResources) {
	opts := node.Claims.Options()
	opts.ExcludeOverhead = true
	requests, limits := resourcehelper.PodRequests(pod, opts), resourcehelper.PodLimits(pod, opts)
	cpuRequest, ok := requests[v1.ResourceCPU]
	if !ok {
		cpuRequest = limits[v1.ResourceCPU]
	}
	sum = linuxResources(cpuRequest, limits[v1.ResourceCPU], limits[v1.ResourceMemory], node)
	if exclusiveCPUs && node.CFSQuota {
		sum.CpuQuota = -1
	}
	return sum, overheadOf(pod, node)
}

// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox_linux.go, convertOverheadToLinuxResources.
func overheadOf(pod *v1.Pod, node Node) *runtimeapi.LinuxContainerResources {
	if pod.Spec.Overhead == nil {
		return &runtimeapi.LinuxContainerResources{}
	}
	cpu := pod.Spec.Overhead[v1.ResourceCPU]
	return linuxResources(cpu, cpu, pod.Spec.Overhead[v1.ResourceMemory], node)
}

// SandboxUpdate returns the request that tells the runtime which limits the pod's cgroup gets: they include the overhead, the request has it
// apart. -1 means no limit.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, generateUpdatePodSandboxResourcesRequest.
func SandboxUpdate(pod *v1.Pod, sandbox string, limits qos.Resources, node Node) *runtimeapi.UpdatePodSandboxResourcesRequest {
	cpu, memory := pod.Spec.Overhead.Cpu().MilliValue(), pod.Spec.Overhead.Memory().Value()
	without := func(limit *int64, overhead int64) int64 {
		if limit == nil || *limit <= 0 {
			return -1
		}
		return *limit - overhead
	}
	r := &runtimeapi.LinuxContainerResources{
		CpuShares: limits.CPUShares, CpuPeriod: node.period().Microseconds(),
		CpuQuota:           without(limits.CPUQuota, qos.Quota(cpu, node.period())),
		MemoryLimitInBytes: without(limits.Memory, memory),
	}
	if cpu > 0 {
		r.CpuShares = qos.Shares(qos.Milli(limits.CPUShares) - cpu)
	}
	if node.CgroupV2 {
		for file, value := range node.MemoryQoS.Pod(pod) {
			unified(r, file, value)
		}
	}
	return &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: sandbox, Overhead: overheadOf(pod, node), Resources: r}
}

// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, calculateLinuxResources.
func linuxResources(cpuRequest, cpuLimit, memory resource.Quantity, node Node) *runtimeapi.LinuxContainerResources {
	r := &runtimeapi.LinuxContainerResources{
		CpuShares:          qos.Shares(cpuRequest.MilliValue()),
		MemoryLimitInBytes: memory.Value(),
	}
	if node.CFSQuota {
		r.CpuPeriod = node.period().Microseconds()
		r.CpuQuota = qos.Quota(cpuLimit.MilliValue(), node.period())
	}
	if node.CgroupV2 && !node.SingleProcessOOMKill {
		unified(r, "memory.oom.group", "1")
	}
	return r
}

func limitOf(pod *v1.Pod, c *v1.Container, name v1.ResourceName) resource.Quantity {
	limit := c.Resources.Limits[name]
	if limit.IsZero() && resourcehelper.IsPodLevelResourcesSet(pod) {
		return pod.Spec.Resources.Limits[name]
	}
	return limit
}

// withClaimed adds what claims have to a limit that the container sets.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, getCPULimit and getMemoryLimit.
func withClaimed(limit resource.Quantity, c *v1.Container, name v1.ResourceName, claimed v1.ResourceList) resource.Quantity {
	if own := c.Resources.Limits[name]; own.IsZero() {
		return limit
	}
	limit = limit.DeepCopy() // Add could change the spec's
	limit.Add(claimed[name])
	return limit
}

// hugePages returns the limit of each page size of the kernel. Without a limit a size cannot be used, so what claims have is the limit then,
// unless the pod has one.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, GetHugepageLimitsFromResources.
func hugePages(pod *v1.Pod, c *v1.Container, node Node, claimed v1.ResourceList) []*runtimeapi.HugepageLimit {
	limits := map[string]int64{}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		addPages(limits, pod.Spec.Resources.Limits)
	}
	addPages(limits, c.Resources.Limits)
	for name, amount := range claimed {
		for size, bytes := range qos.HugePages(v1.ResourceList{name: amount}) {
			if _, own := c.Resources.Limits[name]; own {
				limits[qos.PageSize(size)] += bytes
			} else if !podLimits(pod, name) {
				limits[qos.PageSize(size)] = bytes
			}
		}
	}
	var out []*runtimeapi.HugepageLimit
	for _, size := range node.HugePageSizes {
		out = append(out, &runtimeapi.HugepageLimit{PageSize: size, Limit: uint64(max(0, limits[size]))})
	}
	return out
}

// podLimits reports whether the pod-level resources have a limit.
func podLimits(pod *v1.Pod, name v1.ResourceName) bool {
	if pod.Spec.Resources == nil {
		return false
	}
	_, has := pod.Spec.Resources.Limits[name]
	return has
}

func addPages(limits map[string]int64, list v1.ResourceList) {
	for size, limit := range qos.HugePages(list) {
		limits[qos.PageSize(size)] = limit
	}
}

// unified sets a file of cgroup v2.
func unified(r *runtimeapi.LinuxContainerResources, file, value string) {
	if r.Unified == nil {
		r.Unified = map[string]string{}
	}
	r.Unified[file] = value
}

// limitSwap sets how much swap a container may use. On cgroup v1 that is none beyond its memory limit, and without a
// limit any.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, configureContainerSwapResources.
func limitSwap(r *runtimeapi.LinuxContainerResources, pod *v1.Pod, c *v1.Container, node Node) {
	switch {
	case !node.Swap.Accounting:
	case !node.CgroupV2:
		r.MemorySwapLimitInBytes = r.MemoryLimitInBytes
	case node.Swap.Limited:
		unified(r, memorySwapMax, strconv.FormatInt(qos.SwapLimit(pod, c, node.MemoryCapacity, node.Swap.Capacity), 10))
	default:
		unified(r, memorySwapMax, "0")
	}
}
