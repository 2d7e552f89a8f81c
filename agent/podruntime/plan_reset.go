package podruntime

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// resets reports whether a container exited in a way for which its rules restart the whole pod.
//
// Upstream: pkg/kubelet/container/helpers.go, ShouldAllContainersRestart.
func (p *planner) resets() bool {
	if p.Pod.DeletionTimestamp != nil {
		return false
	}
	for c := range podspec.Each(p.Pod) {
		if cur := p.Seen.Newest(c.Name); cur != nil && restartsAll(c, cur) {
			return true
		}
	}
	return false
}

func restartsAll(c *v1.Container, cur *podstate.Container) bool {
	return cur.State == podstate.Exited && podspec.RestartsAll(c, cur.ExitCode)
}

// reset plans the removal of all containers: app containers, then init containers and sidecars, on which they may rely until they have
// exited. Those whose exit is the reason are removed last: as long as they exist, a later plan sees that the others must be removed.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, getContainersToReset.
func (p *planner) reset() Plan {
	p.Why, p.Reset = "a container's restart rules restart all containers", true
	var sources []*podstate.Container
	var before []string // all that is removed first
	for _, list := range [][]v1.Container{p.Pod.Spec.Containers, p.Pod.Spec.InitContainers} {
		removed := slices.Clone(before)
		for i := range list {
			for j := range p.Seen.Containers {
				switch c := &p.Seen.Containers[j]; {
				case c.Name != list[i].Name:
				case restartsAll(&list[i], c):
					sources = append(sources, c)
				default:
					removed = append(removed, p.remove(c, before))
				}
			}
		}
		before = removed
	}
	for _, c := range sources {
		p.decide(podspec.Container(p.Pod, c.Name), c, trace.VerdictRestart, "its rules restart all containers of the pod")
		p.remove(c, before)
	}
	return p.Plan
}

func (p *planner) remove(c *podstate.Container, needs []string) string {
	if c.State == podstate.Running || c.State == podstate.Unknown {
		needs = []string{p.add(Step{
			ID: "kill " + c.Name + " " + shortID(c.ID), Verb: trace.VerbKill, Container: c.Name, Target: c.ID, Needs: needs,
			Reason: "all containers restart", Message: "killing",
		})}
	}
	return p.add(Step{
		ID: "remove " + c.Name + " " + shortID(c.ID), Verb: trace.VerbRemove, Container: c.Name, Target: c.ID,
		Needs: needs, Reason: "all containers restart",
	})
}
