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
	for _, p := range a.Store.unfinished(a.Workers.State) {
		if allocated := a.of(p); allocated != nil {
			out = append(out, *allocated)
		}
	}
	return out
}

// Pod returns the pod of that name, nil if there is none.
func (a Allocations) Pod(namespace, name string) *v1.Pod {
	for _, p := range a.Store.unfinished(a.Workers.State) {
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
	allocated, ok := a.Resizes.Allocated(pod)
	if !ok {
		return nil
	}
	out := *allocated // others have the rest of it
	out.Status = v1.PodStatus{}
	return &out
}

// unfinished returns the pods that have resources of the node. They must not be changed.
func (s *Store) unfinished(states States) []*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*v1.Pod
	for uid, e := range s.pods {
		if e.holds(states(uid)) {
			out = append(out, e.pod)
		}
	}
	return out
}
