package status

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// terminated returns a pod's last status: containers with an unknown result count as failed, and so does the pod.
func terminated(p *v1.Pod, last *v1.PodStatus, static bool) *v1.PodStatus {
	s := last.DeepCopy()
	if initialised(p, last) {
		end(s.ContainerStatuses)
	}
	end(started(s.InitContainerStatuses))
	if !static && !terminal(s.Phase) {
		s.Phase = v1.PodFailed
	}
	return s
}

// end marks containers as terminated whose exit was not observed. Upstream: pkg/kubelet/container/runtime.go,
// ContainerReasonStatusUnknown.
func end(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated", ExitCode: 137,
			}}
		}
	}
}

// started returns the init containers up to the last one that was ever started, at least the first.
func started(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := range slices.Backward(list) {
		if list[i].State.Waiting == nil || list[i].LastTerminationState.Terminated != nil {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}

// initialised reports whether app containers may have started. Upstream: pkg/kubelet/status/status_manager.go,
// hasPodInitialized.
func initialised(p *v1.Pod, s *v1.PodStatus) bool {
	if len(p.Spec.InitContainers) == 0 {
		return true
	}
	for i := range s.ContainerStatuses {
		if c := &s.ContainerStatuses[i]; c.LastTerminationState.Terminated != nil || c.State.Waiting == nil {
			return true
		}
	}
	n := len(s.InitContainerStatuses)
	if n == 0 || n > len(p.Spec.InitContainers) {
		return false
	}
	c := &s.InitContainerStatuses[n-1]
	if podspec.RestartableInit(&p.Spec.InitContainers[n-1]) {
		return c.State.Running != nil && c.Started != nil && *c.Started
	}
	succeeded := func(t *v1.ContainerStateTerminated) bool { return t != nil && t.ExitCode == 0 }
	return succeeded(c.State.Terminated) || succeeded(c.LastTerminationState.Terminated)
}
