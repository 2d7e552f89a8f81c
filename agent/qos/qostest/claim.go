package qostest

import v1 "k8s.io/api/core/v1"

// Claim returns a copy of the pod with one more ResourceClaim, which has the amounts, such as "cpu=1 memory=1Gi", for the containers with
// the names.
func Claim(p *v1.Pod, amounts string, containers ...string) *v1.Pod {
	status := v1.NodeAllocatableResourceClaimStatus{ResourceClaimName: "claim", Containers: containers}
	for name, q := range List(amounts) {
		status.Mapping = append(status.Mapping, v1.NodeAllocatableMappedResources{Name: name, Quantity: &q})
	}
	return with(p, status)
}

// Overhead returns a copy of the pod with one more ResourceClaim, which costs each pod and each of the containers the amounts.
func Overhead(p *v1.Pod, perPod, perContainer string, containers ...string) *v1.Pod {
	status := v1.NodeAllocatableResourceClaimStatus{ResourceClaimName: "overhead", Containers: containers}
	for name, q := range List(perPod) {
		status.Overhead = append(status.Overhead, v1.NodeAllocatableOverheadResources{Name: name, PerPod: &q})
	}
	for name, q := range List(perContainer) {
		status.Overhead = append(status.Overhead, v1.NodeAllocatableOverheadResources{Name: name, PerContainer: &q})
	}
	return with(p, status)
}

func with(p *v1.Pod, status v1.NodeAllocatableResourceClaimStatus) *v1.Pod {
	p = p.DeepCopy()
	p.Status.NodeAllocatableResourceClaimStatuses = append(p.Status.NodeAllocatableResourceClaimStatuses, status)
	return p
}
