package worker

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Registry has the workers of all pods. It is built before the Manager, which fills it, so that the parts of a Syncer can read a pod's
// state, or request work for a pod, without the Manager. Safe for concurrent use.
type Registry struct {
	mu      sync.Mutex // taken before a worker's mu
	workers map[types.UID]*worker
}

// NewRegistry returns a registry without workers.
func NewRegistry() *Registry { return &Registry{workers: map[types.UID]*worker{}} }

// Wake requests another Sync of a pod, if it has a worker.
func (r *Registry) Wake(uid types.UID, c Cause) bool {
	w := r.get(uid)
	if w == nil {
		return false
	}
	w.wake(c)
	return true
}

// State returns the state of a pod's worker; None when there is none.
func (r *Registry) State(uid types.UID) State {
	w := r.get(uid)
	if w == nil {
		return None
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mach.state
}

// States returns the states of all workers, by UID.
func (r *Registry) States() map[types.UID]State {
	out := map[types.UID]State{}
	for uid, w := range r.all() {
		w.mu.Lock()
		out[uid] = w.mach.state
		w.mu.Unlock()
	}
	return out
}

// Running reports whether something of a pod may run: it has a worker and has not terminated.
func (r *Registry) Running(uid types.UID) bool {
	s := r.State(uid)
	return s == Syncing || s == Terminating
}

// Cleaned reports whether the resources of a pod are released: it was cleaned after it terminated, or has no worker.
//
// Upstream: pkg/kubelet/kubelet_pods.go, PodResourcesAreReclaimed.
func (r *Registry) Cleaned(uid types.UID) bool {
	w := r.get(uid)
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mach.cleaned || w.mach.state == Gone
}

// Pods returns the pods that have workers, by UID.
func (r *Registry) Pods() map[types.UID]*v1.Pod {
	out := map[types.UID]*v1.Pod{}
	for uid, w := range r.all() {
		out[uid] = w.pod()
	}
	return out
}

// Unended returns the pods of which something runs or will run, also those that are terminating.
func (r *Registry) Unended() []*v1.Pod {
	var out []*v1.Pod
	for _, w := range r.all() {
		w.mu.Lock()
		if w.mach.state == Syncing || w.mach.state == Terminating {
			out = append(out, w.mach.pod)
		}
		w.mu.Unlock()
	}
	return out
}

// Endable returns the pods that end sooner if they terminate with the grace period that grace returns, in seconds: those that run or will
// run, and those that are terminating with a longer one and are not gone from their source.
//
// Upstream: pkg/kubelet/kubelet_pods.go, isPodInactive.
func (r *Registry) Endable(grace func(*v1.Pod) int64) []*v1.Pod {
	var out []*v1.Pod
	for _, w := range r.all() {
		w.mu.Lock()
		if w.mach.pod != nil && w.mach.sooner(grace(w.mach.pod)) {
			out = append(out, w.mach.pod)
		}
		w.mu.Unlock()
	}
	return out
}

func (r *Registry) get(uid types.UID) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers[uid]
}

func (r *Registry) all() map[types.UID]*worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.workers)
}
