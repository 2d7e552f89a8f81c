package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// Allocations has the pods that have resources of the node, for /allocatedPods: they were admitted and have not terminated. All fields are
// required.
//
// Upstream: pkg/kubelet/kubelet_getters.go, GetAllocatedPods and GetAllocatedPodByName.
type Allocations struct {
	Store *Store
	// Resizes has the allocated resources of pods; false means none.
	Resizes interface {
		Allocated(pod *v1.Pod) (*v1.Pod, bool)
	}
	// Workers has the states of the pods' workers.
	Workers interface {
		State(uid types.UID) worker.State
	}
}

// Pods returns the pods with their allocated resources and without statuses.
func (a Allocations) Pods() []v1.Pod {
	var out []v1.Pod
	for _, p := range a.Store.unfinished() {
		if allocated := a.of(p); allocated != nil {
			out = append(out, *allocated)
		}
	}
	return out
}

// Pod returns the pod of that name, nil if there is none.
func (a Allocations) Pod(namespace, name string) *v1.Pod {
	for _, p := range a.Store.unfinished() {
		if p.Namespace != namespace || p.Name != name {
			continue
		}
		if allocated := a.of(p); allocated != nil {
			return allocated
		}
	}
	return nil
}

func (a Allocations) of(pod *v1.Pod) *v1.Pod {
	if a.Workers.State(pod.UID) == worker.Terminated {
		return nil
	}
	allocated, ok := a.Resizes.Allocated(pod)
	if !ok {
		return nil
	}
	out := *allocated // others have the rest of it
	out.Status = v1.PodStatus{}
	return &out
}

// unfinished returns the pods that terminate, or have not ended as far as their statuses show. A pod that no source has any more is not one
// of them, even if its containers still end. They must not be changed.
//
// Upstream: pkg/kubelet/kubelet_pods.go, GetActivePods and isPodInactive.
func (s *Store) unfinished() []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for _, e := range s.pods {
		over := e.status.Phase == v1.PodSucceeded || e.status.Phase == v1.PodFailed
		if !e.removed && (!e.ended.IsZero() || !over) {
			out = append(out, e.pod)
		}
	}
	return out
}
