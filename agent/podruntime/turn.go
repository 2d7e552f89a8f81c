package podruntime

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The classes of runtime work. They have equal shares of the slots while there is work in each, so many new pods do not
// delay pods that terminate or whose containers crashed, and vice versa.
const (
	// classStart is the work until a pod's first start, in the order in which pods arrived: one pod is finished before
	// the next begins.
	classStart = "start"
	// ClassAgain is later work (the restart of a container, the replacement of a sandbox, a resize), and every attempt after a
	// failed one. It runs in order of arrival, so pods that fail repeatedly take turns. It is the modest class of the slots:
	// however many containers crash, a new pod finds a free slot.
	ClassAgain = "again"
	// ClassEnd is the termination of a pod, in order of arrival, and then the removal of pods whose objects are gone from the API:
	// nobody waits for it. It cannot wait for ever, because each pod that ends was started, which takes longer.
	ClassEnd = "end"
)

// turnOf returns the pod's turn in the queue for runtime work: its class and, for pods that start, its order.
func turnOf(pod *v1.Pod, seen *podstate.Pod, plan *Plan, k *knowledge, order uint64) semaphore.Turn {
	t := semaphore.Turn{Class: classStart, Order: order, Pod: podspec.Ref(pod), Slow: k.slow}
	switch {
	case plan.Ending:
		t.Class, t.Slow = ClassEnd, k.slowEnd
	case k.failed || hasStarted(pod, seen):
		t.Class = ClassAgain
	}
	if t.Slow || t.Class != classStart {
		t.Order = 0
	}
	if plan.Ending && plan.has(stepUnmount) {
		t.Order = 1
	}
	return t
}

// hasStarted reports whether the pod is past its first start: an app container was created, or any container failed.
func hasStarted(pod *v1.Pod, seen *podstate.Pod) bool {
	for i := range pod.Spec.Containers {
		if seen.Newest(pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	if seen != nil {
		for _, c := range seen.Containers {
			if c.State == podstate.Exited && c.ExitCode != 0 {
				return true
			}
		}
	}
	return false
}

// kindOf returns the kind under which a step's duration is measured. Each runtime class has its own kinds, and so has
// large work.
func kindOf(pod *v1.Pod, s *Step, large bool) string {
	if large {
		return "large " + string(s.Verb)
	}
	if c := pod.Spec.RuntimeClassName; s.Verb == trace.VerbSandbox && c != nil && *c != "" {
		return string(s.Verb) + " " + *c
	}
	return string(s.Verb)
}
