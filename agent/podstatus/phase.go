package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// tally counts containers by their effect on the phase.
type tally struct {
	// initPending and initFailed count init containers; failed are those that will not run again.
	initPending, initFailed int
	// sidecarPending counts sidecars that have not started.
	sidecarPending int
	// Of app containers and running sidecars:
	unknown, running, waiting int
	// Of app containers:
	stopped, final, succeeded int
}

// phase returns the pod's phase. Upstream: pkg/kubelet/kubelet_pods.go, getPhase.
func phase(p *v1.Pod, s *v1.PodStatus, terminal, initialized bool) v1.PodPhase {
	var t tally
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		status := find(s.InitContainerStatuses, c.Name)
		if podspec.RestartableInit(c) {
			t.sidecar(status)
		} else {
			t.init(&p.Spec, c, status)
		}
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		t.app(&p.Spec, c, find(s.ContainerStatuses, c.Name))
	}
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.sidecarPending > 0 && !initialized, t.waiting > 0:
		return v1.PodPending
	case t.unknown > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped == 0:
		return v1.PodPending
	case terminal && !podspec.IsStatic(p):
		return t.outcome()
	case t.stopped != t.final:
		return v1.PodRunning // some will restart
	}
	return t.outcome()
}

func (t *tally) outcome() v1.PodPhase {
	if t.stopped == t.succeeded {
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// ended returns the last exit of a container that does not run; nil if it never ran.
func ended(s *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	if s.State.Waiting != nil {
		return s.LastTerminationState.Terminated
	}
	return nil
}

// again reports whether a container with this exit runs again.
func again(spec *v1.PodSpec, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.Reason == RestartingAllContainers || podspec.ShouldRestart(spec, c, end.ExitCode)
}

func (t *tally) init(spec *v1.PodSpec, c *v1.Container, s *v1.ContainerStatus) {
	if s == nil || s.State.Running != nil || ended(s) == nil {
		t.initPending++
		return
	}
	if code := ended(s).ExitCode; code != 0 && !again(spec, c, ended(s)) {
		t.initFailed++
	}
}

func (t *tally) sidecar(s *v1.ContainerStatus) {
	switch {
	case s == nil:
		t.unknown++
	case s.State.Running != nil:
		t.running++
		if s.Started == nil || !*s.Started {
			t.sidecarPending++
		}
	case ended(s) != nil:
		// An exited one does not count: it restarts, or the pod is finished.
	default:
		t.sidecarPending++
		t.waiting++
	}
}

func (t *tally) app(spec *v1.PodSpec, c *v1.Container, s *v1.ContainerStatus) {
	switch {
	case s == nil:
		t.unknown++
	case s.State.Running != nil:
		t.running++
	case ended(s) != nil:
		t.stopped++
		code := ended(s).ExitCode
		if !again(spec, c, ended(s)) {
			t.final++
		}
		// A container that waits to restart has not succeeded, whatever its last exit code.
		if s.State.Terminated != nil && code == 0 {
			t.succeeded++
		}
	default:
		t.waiting++
	}
}
