package podobject

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// HasStarted reports whether all of a pod's containers have started.
func HasStarted(pod *v1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Waiting != nil || pod.Status.ContainerStatuses[i].State == (v1.ContainerState{}) {
			return false
		}
	}
	return pod.Status.Phase != v1.PodPending && len(pod.Status.ContainerStatuses) >= len(pod.Spec.Containers) && len(pod.Spec.Containers) > 0
}

// IsReady reports whether a pod is ready.
func IsReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// startedAt is when the last container of a pod was started, as the kubelet noted it; zero where it did not.
func startedAt(pod *v1.Pod) (last time.Time) {
	for i := range pod.Status.ContainerStatuses {
		at := time.Time{}
		switch s := pod.Status.ContainerStatuses[i].State; {
		case s.Running != nil:
			at = s.Running.StartedAt.Time
		case s.Terminated != nil:
			at = s.Terminated.StartedAt.Time
		}
		if at.IsZero() {
			return at
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// readyAt is since when a pod is ready, as the kubelet noted it; zero where it did not.
func readyAt(pod *v1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Status is a pod's status as an event.
func Status(pod *v1.Pod) *trace.PodStatus {
	in := &pod.Status
	st := &trace.PodStatus{Phase: trace.PodPhase(in.Phase), Reason: in.Reason, Message: in.Message, IP: in.PodIP, Total: len(pod.Spec.Containers)}
	sidecars := make(map[string]bool)
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			sidecars[c.Name] = true
		}
	}
	st.Total += len(sidecars)
	for i := range in.InitContainerStatuses {
		c := &in.InitContainerStatuses[i]
		st.Containers = append(st.Containers, container(c, true))
		if c.Ready && sidecars[c.Name] {
			st.Ready++
		}
	}
	for i := range in.ContainerStatuses {
		c := &in.ContainerStatuses[i]
		st.Containers = append(st.Containers, container(c, false))
		if c.Ready {
			st.Ready++
		}
	}
	st.Restarts = trace.PodRestarts(st.Containers, initialized(in), func(name string) bool { return sidecars[name] })
	return st
}

func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// initialized reports whether a pod's init containers have completed.
func initialized(s *v1.PodStatus) bool {
	return len(s.InitContainerStatuses) == 0 || slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodInitialized && c.Status == v1.ConditionTrue
	})
}

func container(in *v1.ContainerStatus, isInit bool) trace.ContainerStatus {
	c := trace.ContainerStatus{Name: in.Name, Init: isInit, Restarts: int(in.RestartCount), ID: in.ContainerID, State: trace.ContainerWaiting}
	if t := in.LastTerminationState.Terminated; t != nil {
		if c.Last, c.ExitCode = exit(t), t.ExitCode; c.Last.Class == "" {
			c.Last.Message = "" // the container's own last words
		}
	}
	switch s := in.State; {
	case s.Running != nil:
		c.State, c.ExitCode, c.Started = trace.ContainerRunning, 0, timeOf(s.Running.StartedAt)
	case s.Terminated != nil:
		e := exit(s.Terminated)
		c.State, c.Reason, c.Message, c.Class = trace.ContainerTerminated, e.Reason, e.Message, e.Class
		c.ExitCode, c.Started, c.Finished = e.ExitCode, e.Started, e.Finished
	case s.Waiting != nil:
		c.Reason, c.Message, c.Class = s.Waiting.Reason, s.Waiting.Message, trace.Classify(s.Waiting.Message)
	}
	return c
}

func exit(t *v1.ContainerStateTerminated) *trace.ContainerExit {
	return &trace.ContainerExit{
		Reason: t.Reason, Message: t.Message, Class: trace.ClassifyExit(t.ExitCode, t.Reason, t.Message), ID: t.ContainerID, ExitCode: t.ExitCode,
		Started: timeOf(t.StartedAt), Finished: timeOf(t.FinishedAt),
	}
}

// timeOf is a time of an object; zero where it has none.
func timeOf(t metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
