package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verified has the store's pods, for the pods API. A pod is Ready only if this agent has found that: until it has a status of its own, the one
// in the API is from before it started.
//
// Upstream: pkg/kubelet/apis/pods/server.go, getEffectivePodStatus.
type Verified struct{ Store *Store }

// Pods returns copies of all pods with their statuses.
func (v Verified) Pods() []v1.Pod { return v.Store.copies((*entry).verified) }

// Copy returns a copy of a pod with its status, or nil.
func (v Verified) Copy(uid types.UID) *v1.Pod { return v.Store.copyOne(uid, (*entry).verified) }

// verified returns a copy of the pod that is not Ready while its status is not the agent's.
func (e *entry) verified() *v1.Pod {
	p := e.copied()
	if e.own {
		return p
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
			c.Status, c.Reason, c.Message = v1.ConditionFalse, "ContainersNotReady", "Kubelet is initializing pod containers"
		}
	}
	return p
}
