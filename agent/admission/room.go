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

// Fits reports whether a pod with its requested resources fits together with the others, and if not, why. Infeasible means that it
// would not fit on an empty node either.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, canResizePod.
func (r Room) Fits(pod *v1.Pod, others []*v1.Pod) (fits, infeasible bool, message string) {
	in := Inputs{Pod: pod, Others: others, Allocatable: r.Allocatable, Claims: r.Claims}
	v := Resources(in)
	if v.OK {
		return true, false, ""
	}
	in.Others = nil
	return false, !Resources(in).OK, v.Message
}
