package probe

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// Mirrors has the mirror pods of static pods.
type Mirrors interface {
	// Mirror returns the mirror pod of the static pod with that UID; nil for none.
	Mirror(uid types.UID) *v1.Pod
}

// adopted returns the last status of a static pod for which no status was given: the manifest may arrive before the
// mirror pod with the status. A container without a known status that started before this agent counts as started and
// ready until its probes say otherwise: the earlier agent would have killed it, and a ready pod must not become unready
// because its agent was replaced.
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
