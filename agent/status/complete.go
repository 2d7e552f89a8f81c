package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxMessages limits the total length of the termination messages of a pod's containers, in bytes. Upstream:
// pkg/kubelet/container/runtime.go, MaxPodTerminationMessageLogLength.
const maxMessages = 12 << 10

// complete sets what follows from the earlier status: transition times, start time, a phase that does not go back, and
// the API's resolution of times. s is changed in place. Upstream: pkg/kubelet/status/status_manager.go,
// updateStatusInternal.
func complete(p *v1.Pod, old, s *v1.PodStatus, static bool, now time.Time) {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		before := condition(old, c.Type)
		switch {
		case !ofAgent(c), c.Type == v1.PodResizeInProgress, c.Type == v1.PodResizePending:
		case before != nil && before.Status == c.Status:
			c.LastTransitionTime = before.LastTransitionTime
		default:
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
	if !old.StartTime.IsZero() {
		s.StartTime = old.StartTime.DeepCopy()
	} else if s.StartTime.IsZero() {
		s.StartTime = new(metav1.NewTime(now))
	}
	if len(s.VolumeHealth) == 0 {
		s.VolumeHealth = old.VolumeHealth
	}
	if !static && terminal(old.Phase) && s.Phase != old.Phase {
		s.Phase, s.Reason, s.Message = old.Phase, old.Reason, old.Message
	}
	s.ObservedGeneration = max(p.Generation, old.ObservedGeneration)
	normalise(p, s)
}

// normalised returns a normalized copy.
func normalised(p *v1.Pod, s v1.PodStatus) *v1.PodStatus {
	c := s.DeepCopy()
	normalise(p, c)
	return c
}

// normalise rounds times to the API's resolution, clips messages and sorts container statuses. Upstream:
// pkg/kubelet/status/status_manager.go, normalizeStatus.
func normalise(p *v1.Pod, s *v1.PodStatus) {
	limit := maxMessages / max(1, len(p.Spec.Containers)+len(p.Spec.InitContainers)+len(p.Spec.EphemeralContainers))
	round := func(t *metav1.Time) {
		if t != nil {
			*t = t.Rfc3339Copy()
		}
	}
	round(s.StartTime)
	for i := range s.Conditions {
		round(&s.Conditions[i].LastProbeTime)
		round(&s.Conditions[i].LastTransitionTime)
	}
	for _, list := range [][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for _, state := range []*v1.ContainerState{&list[i].State, &list[i].LastTerminationState} {
				if r := state.Running; r != nil {
					round(&r.StartedAt)
				}
				if t := state.Terminated; t != nil {
					round(&t.StartedAt)
					round(&t.FinishedAt)
					t.Message = t.Message[:min(len(t.Message), limit)]
				}
			}
		}
	}
	byName := func(a, b *v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) }
	sorting.Stable(s.ContainerStatuses, byName)
	sorting.Stable(s.EphemeralContainerStatuses, byName)
	place := make(map[string]int, len(p.Spec.InitContainers))
	for i := range p.Spec.InitContainers {
		place[p.Spec.InitContainers[i].Name] = i
	}
	sorting.Stable(s.InitContainerStatuses, func(a, b *v1.ContainerStatus) int {
		return cmp.Compare(place[a.Name], place[b.Name])
	})
}

// backward returns the container that exited permanently and would run again in the new status; "" for none. Upstream:
// pkg/kubelet/status/status_manager.go, checkContainerStateTransition.
func backward(spec *v1.PodSpec, old, s *v1.PodStatus) string {
	if spec.RestartPolicy == v1.RestartPolicyAlways || restartsAll(spec) {
		return ""
	}
	if why := revived(spec, spec.Containers, old.ContainerStatuses, s.ContainerStatuses); why != "" {
		return why
	}
	return revived(spec, spec.InitContainers, old.InitContainerStatuses, s.InitContainerStatuses)
}

func revived(spec *v1.PodSpec, containers []v1.Container, old, list []v1.ContainerStatus) string {
	for i := range old {
		ended := old[i].State.Terminated
		if ended == nil || (ended.ExitCode != 0 && spec.RestartPolicy == v1.RestartPolicyOnFailure) {
			continue
		}
		c := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == old[i].Name })
		if c >= 0 && (podspec.RestartableInit(&containers[c]) || podspec.ShouldRestart(spec, &containers[c], ended.ExitCode)) {
			continue
		}
		n := slices.IndexFunc(list, func(s v1.ContainerStatus) bool { return s.Name == old[i].Name })
		if n >= 0 && list[n].State.Terminated == nil {
			return fmt.Sprintf("container %s has ended and may not run again (restartPolicy %s)", old[i].Name, spec.RestartPolicy)
		}
	}
	return ""
}

// restartsAll reports whether a container's exit may restart the whole pod.
func restartsAll(spec *v1.PodSpec) bool {
	for _, list := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			for _, r := range list[i].RestartPolicyRules {
				if r.Action == v1.ContainerRestartRuleActionRestartAllContainers {
					return true
				}
			}
		}
	}
	return false
}
