package podstatus

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Trace returns the status as in records. Ready and Total count app containers and sidecars, as kubectl does, also those of
// which the status has nothing yet. Seen may be nil; it has the sandbox.
func Trace(p *v1.Pod, s v1.PodStatus, seen *podstate.Pod) trace.PodStatus {
	out := trace.PodStatus{Phase: trace.PodPhase(s.Phase), Reason: s.Reason, Message: s.Message, IP: s.PodIP}
	if sandbox := seen.Sandbox(); sandbox != nil {
		out.SandboxID = sandbox.ID
	}
	sidecars := make(map[string]bool)
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; podspec.RestartableInit(c) {
			sidecars[c.Name] = true
		}
	}
	out.Total = len(p.Spec.Containers) + len(sidecars)
	add := func(c *v1.ContainerStatus, init bool) {
		out.Containers = append(out.Containers, container(c, init))
		if c.Ready && (!init || sidecars[c.Name]) {
			out.Ready++
		}
	}
	for i := range s.InitContainerStatuses {
		add(&s.InitContainerStatuses[i], true)
	}
	for i := range s.ContainerStatuses {
		add(&s.ContainerStatuses[i], false)
	}
	for i := range s.EphemeralContainerStatuses {
		c := container(&s.EphemeralContainerStatuses[i], false)
		c.Ephemeral = true
		out.Containers = append(out.Containers, c)
	}
	out.Restarts = trace.PodRestarts(out.Containers, initialized(&s), func(name string) bool { return sidecars[name] })
	return out
}

// initialized reports whether a pod's init containers have completed.
func initialized(s *v1.PodStatus) bool {
	c := findCondition(s.Conditions, v1.PodInitialized)
	return len(s.InitContainerStatuses) == 0 || c != nil && c.Status == v1.ConditionTrue
}

func container(c *v1.ContainerStatus, init bool) trace.ContainerStatus {
	_, id, _ := strings.Cut(c.ContainerID, "://")
	out := trace.ContainerStatus{Name: c.Name, Init: init, ID: id, Restarts: int(c.RestartCount)}
	if last := c.LastTerminationState.Terminated; last != nil {
		if out.Last = exit(last); out.Last.Class == "" {
			out.Last.Message = "" // the container's own last words
		}
	}
	switch {
	case c.State.Running != nil:
		out.State, out.Started = trace.ContainerRunning, c.State.Running.StartedAt.UTC()
	case c.State.Terminated != nil:
		e := exit(c.State.Terminated)
		out.State, out.Reason, out.Message, out.Class = trace.ContainerTerminated, e.Reason, e.Message, e.Class
		out.ExitCode, out.Started, out.Finished = e.ExitCode, e.Started, e.Finished
	default:
		out.State = trace.ContainerWaiting
		if w := c.State.Waiting; w != nil {
			out.Reason, out.Message = w.Reason, w.Message
			out.Class = trace.Classify(w.Message)
		}
		if out.Last != nil {
			out.ExitCode = out.Last.ExitCode
		}
	}
	return out
}

// exit describes a termination. Only the message of a container whose program could not be started is the runtime's, and has a class.
func exit(t *v1.ContainerStateTerminated) *trace.ContainerExit {
	_, id, _ := strings.Cut(t.ContainerID, "://")
	e := &trace.ContainerExit{Reason: t.Reason, Message: t.Message, ID: id, ExitCode: t.ExitCode}
	if t.StartedAt.Unix() > 0 {
		e.Started = t.StartedAt.UTC()
	}
	if t.FinishedAt.Unix() > 0 {
		e.Finished = t.FinishedAt.UTC()
	}
	e.Class = trace.ClassifyExit(e.ExitCode, e.Reason, e.Message)
	return e
}
