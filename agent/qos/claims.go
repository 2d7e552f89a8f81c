package qos

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Claims says whether the CPU, memory and huge pages that a pod's ResourceClaims have on the node count as the pod's: its
// status.nodeAllocatableResourceClaimStatuses, which the scheduler writes (KEP-5517, feature gate DRANodeAllocatableResources). They never
// change the QoS class.
type Claims bool

const (
	// WithoutClaims counts only what the pod's spec has.
	WithoutClaims Claims = false
	// WithClaims counts what claims have, too.
	WithClaims Claims = true
)

// Options returns the options of the sums of a pod's requests and limits.
func (c Claims) Options() resource.PodResourcesOptions {
	return resource.PodResourcesOptions{UseDRANodeAllocatableResourceClaimStatus: bool(c)}
}

// Container returns what the pod's claims have for the container with the name; nil if claims do not count. What several containers share
// counts in full for each, because each may use all of it.
//
// Upstream: component-helpers/resource, GetContainerDRAAllocations.
func (c Claims) Container(pod *v1.Pod, name string) v1.ResourceList {
	if !c {
		return nil
	}
	return resource.GetContainerDRAAllocations(pod, name)
}

// memoryRequest returns the memory in bytes that counts for the container's oom_score_adj: its request and its part of what claims have. A
// claim's memory, and what it costs each pod, is divided among the containers that share the claim.
//
// Upstream: pkg/kubelet/qos/policy.go, getEffectiveContainerMemoryRequest.
func (c Claims) memoryRequest(pod *v1.Pod, of *v1.Container) int64 {
	sum := of.Resources.Requests.Memory().Value()
	if !c {
		return sum
	}
	for i := range pod.Status.NodeAllocatableResourceClaimStatuses {
		claim := &pod.Status.NodeAllocatableResourceClaimStatuses[i]
		if !slices.Contains(claim.Containers, of.Name) {
			continue
		}
		users := int64(len(claim.Containers))
		for _, m := range claim.Mapping {
			if m.Name == v1.ResourceMemory && m.Quantity != nil {
				sum += m.Quantity.Value() / users
			}
		}
		for _, o := range claim.Overhead {
			if o.Name != v1.ResourceMemory {
				continue
			}
			if o.PerPod != nil {
				sum += o.PerPod.Value() / users
			}
			if o.PerContainer != nil {
				sum += o.PerContainer.Value()
			}
		}
	}
	return sum
}
