package admission

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// Room has the node's allocatable resources.
type Room struct {
	Allocatable v1.ResourceList
	// Claims says whether the resources count that pods have by ResourceClaims.
	Claims qos.Claims
}

// Fits reports whether a pod with its requested resources fits together with the others, and if not, why, with the reason of a rejected pod.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, canAdmitPod.
func (r Room) Fits(pod *v1.Pod, others []*v1.Pod) (fits bool, reason, message string) {
	v := Resources(Inputs{Pod: pod, Others: others, Allocatable: r.Allocatable, Claims: r.Claims})
	return v.OK, v.Reason, v.Message
}
