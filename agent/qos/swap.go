package qos

import (
	v1 "k8s.io/api/core/v1"
)

// SwapLimit returns how much swap a container may use if swapBehavior is LimitedSwap (KEP-2400): the share of the swap
// that its memory request has of the node's memory. It is 0 for a pod that is not Burstable or is critical, and for a
// container that requests no memory or as much as its limit. memory and swap are the node's; all are in bytes.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, GetContainerSwapBehavior and
// calcSwapForBurstablePods.
func SwapLimit(pod *v1.Pod, c *v1.Container, memory, swap int64) int64 {
	request, limit := c.Resources.Requests.Memory(), c.Resources.Limits.Memory()
	switch {
	case IsCritical(pod), Class(pod) != v1.PodQOSBurstable:
		return 0
	case request.Cmp(*limit) == 0: // also if there is neither
		return 0
	case memory <= 0, request.Value() > memory:
		return 0
	}
	return int64(float64(request.Value()) / float64(memory) * float64(swap))
}
