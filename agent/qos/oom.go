package qos

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

const (
	oomGuaranteed = -997
	oomBestEffort = 1000
	// A burstable container's score is never below that of a guaranteed pod that uses all memory.
	oomBurstableMin = 1000 + oomGuaranteed

	systemCritical     = 2_000_000_000
	systemNodeCritical = "system-node-critical"

	sourceAnnotation = "kubernetes.io/config.source"
	sourceAPI        = "api"
)

// OOMScoreAdj returns the oom_score_adj of a container's processes, -997 to 1000: a process with a higher one is killed
// first. A burstable container's depends on the share of the node's memory (memoryCapacity, bytes) that it requests; a
// sidecar is never killed before the smallest regular container. If memoryCapacity is unknown (0 or less), a burstable
// container counts as one without requests.
//
// Upstream: pkg/kubelet/qos/policy.go, GetContainerOOMScoreAdjust.
func OOMScoreAdj(pod *v1.Pod, claims Claims, c *v1.Container, memoryCapacity int64) int {
	if IsCritical(pod) && pod.Spec.PriorityClassName == systemNodeCritical {
		return oomGuaranteed
	}
	switch Class(pod) {
	case v1.PodQOSGuaranteed:
		return oomGuaranteed
	case v1.PodQOSBestEffort:
		return oomBestEffort
	case v1.PodQOSBurstable:
	}
	if memoryCapacity <= 0 {
		return oomBestEffort - 1
	}
	request := claims.memoryRequest(pod, c)
	if sidecar(pod, c) {
		request = max(request, smallestRegular(pod, claims))
	}
	score := 1000 - 1000*(request+unassigned(pod, claims))/memoryCapacity
	return int(min(max(score, oomBurstableMin), oomBestEffort-1))
}

// IsCritical reports whether the node must keep this pod running: static and mirror pods, and
// those with system priority.
//
// Upstream: pkg/kubelet/types/pod_update.go, IsCriticalPod.
func IsCritical(pod *v1.Pod) bool {
	source, ok := pod.Annotations[sourceAnnotation]
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return (ok && source != sourceAPI) || mirror ||
		(pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical)
}

// unassigned returns each container's share of the pod-level memory request that no container and no claim requests.
func unassigned(pod *v1.Pod, claims Claims) int64 {
	n := int64(len(pod.Spec.Containers) + len(pod.Spec.InitContainers))
	if n == 0 || !resource.IsPodLevelRequestsSet(pod) || pod.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	assigned := resource.AggregateContainerRequests(pod, claims.Options())
	return max(0, pod.Spec.Resources.Requests.Memory().Value()-assigned.Memory().Value()) / n
}

func smallestRegular(pod *v1.Pod, claims Claims) int64 {
	if len(pod.Spec.Containers) == 0 {
		return 0
	}
	smallest := claims.memoryRequest(pod, &pod.Spec.Containers[0])
	for i := range pod.Spec.Containers {
		smallest = min(smallest, claims.memoryRequest(pod, &pod.Spec.Containers[i]))
	}
	return smallest
}

func sidecar(pod *v1.Pod, c *v1.Container) bool {
	if c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
		return false
	}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == c.Name {
			return true
		}
	}
	return false
}
