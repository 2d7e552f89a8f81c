package probe

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// Mirrors knows the API's pods that show static ones.
type Mirrors interface {
	// Mirror returns the mirror of the static pod with that UID; nil for none.
	Mirror(uid types.UID) *v1.Pod
}

// adopted is the last status of a static pod that nobody handed over: the manifest may be here before the mirror that has it. A
// container of which nothing is known, and that ran before this agent's time, counts as up until its probes say otherwise: the
// agent before this one would have ended it, and a ready pod must not seem to fail because its agent was replaced.
func (p *Prober) adopted(pod *v1.Pod) *v1.PodStatus {
	if p.cfg.Mirrors != nil {
		if m := p.cfg.Mirrors.Mirror(pod.UID); m != nil {
			return &m.Status
		}
	}
	st := &v1.PodStatus{}
	seen := p.cfg.Observer.Get(pod.UID)
	if seen == nil {
		return st
	}
	for _, c := range seen.Containers {
		if c.State == podstate.Running && c.StartedAt.Before(p.born) {
			st.ContainerStatuses = append(st.ContainerStatuses, v1.ContainerStatus{
				Name: c.Name, ContainerID: c.ID, Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			})
		}
	}
	return st
}
