package qos

import (
	v1 "k8s.io/api/core/v1"
)

// MaySwap reports whether a container may use swap if swapBehavior is LimitedSwap: in a Burstable pod that is not critical, if the
// container's memory request is not its limit.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, GetContainerSwapBehavior.
func MaySwap(pod *v1.Pod, c *v1.Container) bool {
	same := c.Resources.Requests.Memory().Cmp(*c.Resources.Limits.Memory()) == 0 // also if there is neither
	return !IsCritical(pod) && Class(pod) == v1.PodQOSBurstable && !same
}

// SwapLimit returns how much swap a container may use if swapBehavior is LimitedSwap (KEP-2400): the share of the swap
// that its memory request has of the node's memory, and 0 for a container that may not swap. memory and swap are the node's; all are in
// bytes.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, calcSwapForBurstablePods.
func SwapLimit(pod *v1.Pod, c *v1.Container, memory, swap int64) int64 {
	request := c.Resources.Requests.Memory()
	if !MaySwap(pod, c) || memory <= 0 || request.Value() > memory {
		return 0
	}
	return int64(float64(request.Value()) / float64(memory) * float64(swap))
}
