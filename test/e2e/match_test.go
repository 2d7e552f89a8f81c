package e2e

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

// milestone waits until the pod reaches it.
func (a *agent) milestone(pod, name string) trace.Milestone {
	a.node.t.Helper()
	r := a.wait(fmt.Sprintf("%s to be %s", pod, name), func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && r.Pod.Name == a.node.pod(pod) && string(m.Name) == name
	})
	return *r.Event.(*trace.Milestone)
}

// ready waits until the pod is ready.
func (a *agent) ready(pods ...string) {
	a.node.t.Helper()
	for _, p := range pods {
		a.milestone(p, "ready")
	}
}

// gone waits until nothing of the pod is left.
func (a *agent) gone(pods ...string) {
	a.node.t.Helper()
	for _, p := range pods {
		a.milestone(p, "gone")
	}
}

// status waits for a status of the pod that is as wanted.
func (a *agent) status(pod, what string, ok func(trace.PodStatus) bool) trace.PodStatus {
	a.node.t.Helper()
	r := a.wait(pod+" to have "+what, func(r *trace.Record) bool {
		s, is := r.Event.(*trace.PodStatus)
		return is && r.Pod.Name == a.node.pod(pod) && ok(*s)
	})
	return *r.Event.(*trace.PodStatus)
}

// phase waits until the pod is in that phase.
func (a *agent) phase(pod, phase string) trace.PodStatus {
	a.node.t.Helper()
	return a.status(pod, "phase "+phase, func(s trace.PodStatus) bool { return string(s.Phase) == phase })
}

// reason waits until the container has that reason.
func (a *agent) reason(pod, container, reason string) trace.ContainerStatus {
	a.node.t.Helper()
	s := a.status(pod, reason+" in "+container, func(s trace.PodStatus) bool { return statusOf(s, container).Reason == reason })
	return statusOf(s, container)
}

func statusOf(s trace.PodStatus, container string) trace.ContainerStatus {
	for _, c := range s.Containers {
		if c.Name == container {
			return c
		}
	}
	return trace.ContainerStatus{}
}

// event waits for a Kubernetes event.
func (a *agent) event(pod, reason string) trace.NodeEvent {
	a.node.t.Helper()
	r := a.wait(pod+" to have event "+reason, func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeEvent)
		return ok && e.Reason == reason && r.Pod.Name == a.node.pod(pod)
	})
	return *r.Event.(*trace.NodeEvent)
}

// action matches an edge of an action; an empty container matches any.
func action(verb, container string, edge trace.Edge) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Action)
		return ok && string(e.Verb) == verb && (container == "" || e.Container == container) && r.Edge == edge
	}
}
