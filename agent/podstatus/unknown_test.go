package podstatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// A container of which the runtime knows nothing any more has ended if it ran, also as the one before the current container.
func TestLastStateOfAnUnknownContainer(t *testing.T) {
	lost := running("a")
	lost.ID, lost.State = "id-lost", podstate.Unknown
	next := running("a")
	next.Attempt = 1
	was := func(state v1.ContainerState) *v1.PodStatus {
		return &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "a", ContainerID: "containerd://id-lost", State: state}}}
	}
	for name, c := range map[string]struct {
		previous *v1.PodStatus
		ended    bool
	}{
		"it ran":      {was(v1.ContainerState{Running: &v1.ContainerStateRunning{}}), true},
		"it waited":   {was(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}), false},
		"not known":   {&v1.PodStatus{}, false},
		"no previous": {nil, false},
	} {
		s := Generate(aPod(v1.RestartPolicyAlways, "a"), seen(next, lost), Inputs{Now: at(9), Runtime: "containerd", Previous: c.previous}).ContainerStatuses[0]
		last := s.LastTerminationState.Terminated
		if (last != nil) != c.ended || last != nil && (last.Reason != ContainerStatusUnknown || last.ExitCode != 137) {
			t.Errorf("%s: %+v", name, last)
		}
		if s.State.Running == nil || s.RestartCount != 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
