package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// RestartingAllContainers is the reason of containers that are removed because the rules of another one restart all.
// Upstream: pkg/kubelet/kubelet_pods.go.
const RestartingAllContainers = "RestartingAllContainers"

const messageRemoved = "The container is removed because RestartAllContainers in place"

// allRestart reports whether a container exited for which its rules restart all containers, or such a restart is in
// progress. Upstream: pkg/kubelet/container/helpers.go, ShouldAllContainersRestart.
func (g *generator) allRestart() bool {
	if !podspec.CouldRestartAll(&g.pod.Spec) {
		return false
	}
	if c := findCondition(g.previous.Conditions, v1.AllContainersRestarting); c != nil && c.Status == v1.ConditionTrue {
		return true
	}
	if g.exitRestartsAll() {
		return true
	}
	for _, list := range []struct {
		specs    []v1.Container
		statuses []v1.ContainerStatus
	}{
		{g.pod.Spec.InitContainers, g.previous.InitContainerStatuses}, {g.pod.Spec.Containers, g.previous.ContainerStatuses},
	} {
		for i := range list.specs {
			c := &list.specs[i]
			s := find(list.statuses, c.Name)
			if g.seen.Newest(c.Name) == nil && s != nil && s.State.Terminated != nil && podspec.RestartsAll(c, s.State.Terminated.ExitCode) {
				return true
			}
		}
	}
	return false
}

// allRestarting is the condition of a pod whose containers may all restart.
// Upstream: pkg/kubelet/status/generate.go, GenerateAllContainersRestartingCondition.
func (g *generator) allRestarting(s *v1.PodStatus) verdict {
	switch {
	case s.Phase == v1.PodSucceeded:
		return no(reasonPodCompleted, "")
	case s.Phase == v1.PodFailed:
		return no(reasonPodFailed, "")
	case !g.exitRestartsAll():
		return no("", "")
	}
	return verdict{v1.ConditionTrue, "RestartAllContainersStarted", "container exited with restart policy rule"}
}

// exitRestartsAll reports whether the runtime still has a container for whose exit its rules restart all containers. Such ones are removed
// last, so without one the restart is over, whatever an earlier status says: its agent may have ended before it wrote the next one.
func (g *generator) exitRestartsAll() bool {
	for c := range podspec.Each(g.pod) {
		if newest := g.seen.Newest(c.Name); newest != nil && newest.State == podstate.Exited && podspec.RestartsAll(c, newest.ExitCode) {
			return true
		}
	}
	return false
}

// removed returns the status of a container that was removed and will be created again. Upstream: pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses: of a container that ran, nothing of the removed one is kept but the count.
func removed(s v1.ContainerStatus, old *v1.ContainerStatus) v1.ContainerStatus {
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: RestartingAllContainers, Message: messageRemoved}}
	s.LastTerminationState = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		Reason: RestartingAllContainers, Message: messageRemoved, ExitCode: lost,
	}}
	s.RestartCount = old.RestartCount + 1
	return s
}

// settleRestarts continues the restart counts that the runtime lost with its containers.
func (g *generator) settleRestarts(s, old *v1.ContainerStatus) {
	if old == nil {
		return
	}
	if s.State.Running != nil && old.State.Terminated != nil && old.RestartCount >= s.RestartCount && old.ContainerID != s.ContainerID {
		s.RestartCount = old.RestartCount + 1
		return
	}
	s.RestartCount = max(s.RestartCount, old.RestartCount)
}
