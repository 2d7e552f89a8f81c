package agent

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/agent/probe"
)

// adopting is the prober for pods that ran before this agent's time. A pod of the API comes with its last status; a
// static one has it in its mirror, and the manifest may be here first.
type adopting struct {
	*probe.Prober
	p *parts
}

// Add implements pods.Probes. A static pod's container of which nothing is known counts as up until its probes say otherwise:
// the agent before this one would have ended it, and a ready pod must not seem to fail because its agent was replaced.
func (a adopting) Add(pod *v1.Pod, previous *v1.PodStatus) {
	if podid.IsStatic(pod) && (previous == nil || previous.StartTime.IsZero()) {
		previous = a.last(pod)
	}
	a.Prober.Add(pod, previous)
}

func (a adopting) last(pod *v1.Pod) *v1.PodStatus {
	if !a.p.cluster.alone() {
		if m := a.p.cluster.mirrors.Mirror(pod.UID); m != nil {
			return &m.Status
		}
	}
	st := &v1.PodStatus{}
	seen := a.p.pleg.Cache().Get(pod.UID)
	if seen == nil {
		return st
	}
	for _, c := range seen.Containers {
		if c.State == observe.Running && c.StartedAt.Before(a.p.born) {
			st.ContainerStatuses = append(st.ContainerStatuses, v1.ContainerStatus{Name: c.Name, ContainerID: c.ID, Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}})
		}
	}
	return st
}
