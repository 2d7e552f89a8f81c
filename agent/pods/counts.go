package pods

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// Admitted says how a pod that was admitted requests resources.
type Admitted struct {
	// Mode is pod_and_container_level, pod_level, container_level, or empty for none.
	Mode string
	QoS  v1.PodQOSClass
}

// Working is what a worker does, and why.
type Working struct {
	State worker.State
	// Config is desired, orphan (no source has the pod any more) or runtime_only (no source had it since the agent started).
	Config string
	Static bool
}

// Counts are numbers of pods. The keys of Restarted and Active are whether the pods are static.
//
// Upstream: pkg/kubelet/kubelet_pods.go, HandlePodCleanups and recordPodLevelResourcesAdmission.
type Counts struct {
	// Restarted are those that were removed and added again with the same UID, Admitted those that were admitted; since the agent started.
	Restarted map[bool]uint64
	Admitted  map[Admitted]uint64
	// Preempted are those that were ended for critical pods, by the resource that was short.
	Preempted map[v1.ResourceName]uint64
	// Active count in the admission of others.
	Active map[bool]int
	// Ephemeral is the number of ephemeral containers.
	Ephemeral int
	// Working are the pods that have workers.
	Working map[Working]int
}

// counts are the numbers that only grow.
type counts struct {
	restarted map[bool]uint64
	admitted  map[Admitted]uint64
	preempted map[v1.ResourceName]uint64
}

func newCounts() counts {
	return counts{map[bool]uint64{}, map[Admitted]uint64{}, map[v1.ResourceName]uint64{}}
}

// admitted counts a pod that was admitted.
func (s *Store) admitted(pod *v1.Pod) {
	inContainers := false
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			inContainers = inContainers || len(list[i].Resources.Requests) > 0 || len(list[i].Resources.Limits) > 0
		}
	}
	r := pod.Spec.Resources
	a := Admitted{QoS: qos.Class(pod)}
	switch inPod := r != nil && (len(r.Requests) > 0 || len(r.Limits) > 0); {
	case inPod && inContainers:
		a.Mode = "pod_and_container_level"
	case inPod:
		a.Mode = "pod_level"
	case inContainers:
		a.Mode = "container_level"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.admitted[a]++
}

// preempted counts pods that are ended for a critical one.
func (s *Store) preempted(pods int, short v1.ResourceName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.preempted[short] += uint64(pods)
}

// Counts returns the numbers of pods; states are those of all workers.
func (s *Store) Counts(states map[types.UID]worker.State) Counts {
	out := Counts{Active: map[bool]int{}, Working: map[Working]int{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Restarted, out.Admitted, out.Preempted = maps.Clone(s.counts.restarted), maps.Clone(s.counts.admitted), maps.Clone(s.counts.preempted)
	for uid, e := range s.pods {
		static := podspec.IsStatic(e.pod)
		if e.holds(states[uid]) && !e.freed || e.again != nil {
			out.Active[static]++
		}
		out.Ephemeral += len(e.pod.Spec.EphemeralContainers)
	}
	for uid, state := range states {
		w := Working{State: state, Config: "runtime_only"}
		if e := s.pods[uid]; e != nil {
			w.Config, w.Static = "desired", podspec.IsStatic(e.pod)
			if e.removed {
				w.Config = "orphan"
			}
		}
		out.Working[w]++
	}
	return out
}
