package qos

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Resources are the limits of a pod's cgroup. A nil field keeps the kernel's value.
type Resources struct {
	// CPUShares has the scale of cpu.shares: 1024 per CPU.
	CPUShares int64
	// CPUQuota is microseconds of CPU time per CPUPeriod; -1 and 0 mean no limit.
	CPUQuota *int64
	// CPUPeriod is in microseconds.
	CPUPeriod *int64
	// Memory is the limit in bytes; 0 means no limit.
	Memory *int64
	// HugePages maps page size to limit, both in bytes. Other sizes are limited to 0.
	HugePages map[int64]int64
}

// PodResources sums the resources of a pod's containers, sidecars, init containers and overhead to the limits of the
// pod's cgroup. A limit applies only if every container has one, or the pod has. If enforceQuota is false, there is no
// CPU limit. What claims have adds to requests, and to limits that the spec has.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod.
func PodResources(pod *v1.Pod, claims Claims, enforceQuota bool, period time.Duration) Resources {
	requests := resource.PodRequests(pod, claims.Options())
	limits := resource.PodLimits(pod, claims.Options())
	out := Resources{CPUShares: MinShares, HugePages: HugePages(requests)}
	class := Class(pod)
	if class == v1.PodQOSBestEffort {
		return out
	}
	out.CPUShares = Shares(requests.Cpu().MilliValue())
	if class == v1.PodQOSGuaranteed || declared(pod, v1.ResourceCPU) {
		quota := int64(-1)
		if enforceQuota {
			quota = Quota(limits.Cpu().MilliValue(), period)
		}
		out.CPUQuota, out.CPUPeriod = &quota, new(period.Microseconds())
	}
	if class == v1.PodQOSGuaranteed || declared(pod, v1.ResourceMemory) {
		out.Memory = new(limits.Memory().Value())
	}
	return out
}

// BurstableShares returns the CPU weight of the burstable cgroup: the sum of its pods' requests.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, setCPUCgroupConfig.
func BurstableShares(pods []*v1.Pod, claims Claims) int64 {
	var milli int64
	for _, pod := range pods {
		if Class(pod) == v1.PodQOSBurstable {
			requests := resource.PodRequests(pod, claims.Options())
			milli += requests.Cpu().MilliValue()
		}
	}
	return Shares(milli)
}

func declared(pod *v1.Pod, name v1.ResourceName) bool {
	if resource.IsPodLevelResourcesSet(pod) {
		if q := pod.Spec.Resources.Limits[name]; !q.IsZero() {
			return true
		}
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if q := list[i].Resources.Limits[name]; q.IsZero() {
				return false
			}
		}
	}
	return true
}
