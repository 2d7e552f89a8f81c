package qos

import (
	"math"
	"os"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// The files of cgroup v2 that protect and throttle memory.
const (
	MemoryMin  = "memory.min"
	MemoryLow  = "memory.low"
	MemoryHigh = "memory.high"
)

// MemoryPolicy says how requests and limits of memory become memory.min, memory.low and memory.high (KEP-2570, feature
// gate MemoryQoS). It is for cgroup v2 only; a nil policy means that the gate is off.
type MemoryPolicy struct {
	// Tiered protects requested memory from reclaim: memory.min in Guaranteed pods, memory.low in Burstable pods.
	Tiered bool
	// Throttling is where memory.high is between the request (0) and the limit (1). Nil sets no memory.high.
	Throttling *float64
	// Claims says whether the memory that claims have counts: what is protected in a pod, and from where its containers are throttled.
	Claims Claims
}

// Pod returns the files of a pod's cgroup and their values, in bytes.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod and ApplyPodLevelMemoryHigh.
func (p *MemoryPolicy) Pod(pod *v1.Pod) map[string]string {
	if p == nil {
		return nil
	}
	out := map[string]string{}
	if protected := requestOf(pod, p.Claims); p.Tiered && protected > 0 {
		out[protection(pod)] = bytes(protected)
	}
	if p.Throttling == nil || !resource.IsPodLevelResourcesSet(pod) || !declared(pod, v1.ResourceMemory) {
		return out
	}
	request, limits := requestOf(pod, WithoutClaims), resource.PodLimits(pod, WithoutClaims.Options())
	if limit := limits.Memory().Value(); limit != 0 && limit != request {
		p.throttle(out, request, limit)
	}
	return out
}

// Container returns the files of a container's cgroup and their values, in bytes or "max". A container without a limit
// is throttled below allocatable: the node's memory without the reservations, in bytes. If the pod has a limit, its
// cgroup throttles such a container.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, generateLinuxContainerResources.
func (p *MemoryPolicy) Container(pod *v1.Pod, c *v1.Container, allocatable int64) map[string]string {
	if p == nil {
		return map[string]string{MemoryHigh: "max"} // a resize undoes what an agent with a policy has set
	}
	request, limit := c.Resources.Requests.Memory().Value(), c.Resources.Limits.Memory().Value()
	out := map[string]string{}
	if p.Tiered && request != 0 {
		out[protection(pod)] = bytes(request)
	} else {
		out[MemoryMin], out[MemoryLow] = "0", "0"
	}
	inPod := limit == 0 && resource.IsPodLevelResourcesSet(pod) && !pod.Spec.Resources.Limits.Memory().IsZero()
	if p.Throttling == nil || inPod || request == limit && request != 0 {
		return out
	}
	if limit == 0 {
		limit = allocatable
	} else {
		claimed := p.Claims.Container(pod, c.Name)
		limit += claimed.Memory().Value()
	}
	if limit > 0 {
		p.throttle(out, request, limit)
	}
	return out
}

// throttle sets memory.high to a whole number of pages, if that is more than the request.
func (p *MemoryPolicy) throttle(out map[string]string, request, limit int64) {
	page := int64(os.Getpagesize())
	high := math.Floor(float64(request) + (float64(limit)-float64(request))**p.Throttling)
	if whole := int64(high/float64(page)) * page; whole > request {
		out[MemoryHigh] = bytes(whole)
	}
}

// protection returns the file for requested memory: memory.min is never reclaimed, memory.low is reclaimed last.
func protection(pod *v1.Pod) string {
	if Class(pod) == v1.PodQOSGuaranteed {
		return MemoryMin
	}
	return MemoryLow
}

// MemoryRequests returns the sums of the memory requests of the Guaranteed and of the Burstable pods, in bytes.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, getQoSMemoryRequests.
func MemoryRequests(pods []*v1.Pod, claims Claims) (guaranteed, burstable int64) {
	for _, pod := range pods {
		switch Class(pod) {
		case v1.PodQOSGuaranteed:
			guaranteed += requestOf(pod, claims)
		case v1.PodQOSBurstable:
			burstable += requestOf(pod, claims)
		case v1.PodQOSBestEffort:
		}
	}
	return guaranteed, burstable
}

// requestOf returns the memory request of a pod, in bytes.
func requestOf(pod *v1.Pod, claims Claims) int64 {
	requests := resource.PodRequests(pod, claims.Options())
	return requests.Memory().Value()
}

func bytes(n int64) string { return strconv.FormatInt(n, 10) }
