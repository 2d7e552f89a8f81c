package podruntime

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The steps before and after the resize of containers.
const (
	stepGrow   = "grow-cgroup"
	stepSettle = "settle-cgroup"
)

// amounts are the resources of a container, or a pod, that can change while it runs.
type amounts struct{ memoryLimit, memoryRequest, cpuLimit, cpuRequest int64 }

// amountsOf returns the resources of a container. pod are the pod-level resources, whose limits apply if the container
// has none.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, containerResourcesFromRequirements.
func amountsOf(pod *v1.ResourceRequirements, c v1.ResourceRequirements) amounts {
	a := amounts{
		memoryLimit: c.Limits.Memory().Value(), memoryRequest: c.Requests.Memory().Value(),
		cpuLimit: c.Limits.Cpu().MilliValue(), cpuRequest: c.Requests.Cpu().MilliValue(),
	}
	if pod != nil && a.memoryLimit == 0 {
		a.memoryLimit = pod.Limits.Memory().Value()
	}
	if pod != nil && a.cpuLimit == 0 {
		a.cpuLimit = pod.Limits.Cpu().MilliValue()
	}
	return a
}

// resize is what a change of a container's resources requires.
type resize uint8

const (
	resizeNone resize = iota
	resizeUpdate
	resizeRestart
)

// resizeOf compares the resources that a running container has with those that it should have.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodResizeAction.
func (p *planner) resizeOf(c *v1.Container) resize {
	if p.Given == nil {
		return resizeNone
	}
	given, known := p.Given(c.Name)
	if !known {
		return resizeNone
	}
	before, _ := p.Given("")
	has, wants := amountsOf(&before, given), amountsOf(p.Pod.Spec.Resources, c.Resources)
	if has == wants {
		return resizeNone
	}
	cpu := has.cpuLimit != wants.cpuLimit || has.cpuRequest != wants.cpuRequest
	memory := has.memoryLimit != wants.memoryLimit || has.memoryRequest != wants.memoryRequest
	for _, policy := range c.ResizePolicy {
		changes := cpu && policy.ResourceName == v1.ResourceCPU || memory && policy.ResourceName == v1.ResourceMemory
		if changes && policy.RestartPolicy == v1.RestartContainer {
			return resizeRestart
		}
	}
	return resizeUpdate
}

// growFirst plans to enlarge the pod's cgroup for both the current and the new resources of its containers, if they
// differ, or if the pod is being resized: the cgroup may have the limits of an earlier attempt.
func (p *planner) growFirst() {
	if p.Given == nil {
		return
	}
	before, _ := p.Given("")
	var now v1.ResourceRequirements
	if p.Pod.Spec.Resources != nil {
		now = *p.Pod.Spec.Resources
	}
	smaller, larger := volumesToResize(p.Pod, p.Limit)
	differs := p.Resizing || amountsOf(nil, before) != amountsOf(nil, now) || len(smaller)+len(larger) > 0
	for c := range podspec.Each(p.Pod) {
		differs = differs || p.resizeOf(c) != resizeNone
	}
	if differs {
		p.grow = []string{p.add(Step{ID: stepGrow, Verb: trace.VerbResizePod, Needs: slices.Clone(p.ground), Reason: "its resources change"})}
	}
}

// update plans new resources for a container that continues to run.
func (p *planner) update(c *v1.Container, cur *podstate.Container) {
	p.resized = append(p.resized, p.add(Step{
		ID: "resize " + c.Name, Verb: trace.VerbResize, Container: c.Name, Target: cur.ID, Needs: slices.Clone(p.grow), Reason: "its resources change",
	}))
}

// settleLast plans to set the final limits of the pod's cgroup.
func (p *planner) settleLast() {
	if p.grow == nil {
		return
	}
	p.add(Step{ID: stepSettle, Verb: trace.VerbResizePod, Needs: append(slices.Clone(p.grow), p.resized...), Reason: "its resources change"})
	if p.Why == "" {
		p.Why = "its resources change"
	}
}

// withGiven returns the pod with the resources that its containers were given.
func withGiven(pod *v1.Pod, given func(container string) (v1.ResourceRequirements, bool)) *v1.Pod {
	out := pod.DeepCopy()
	if r, ok := given(""); ok {
		out.Spec.Resources = nil
		if len(r.Requests) > 0 || len(r.Limits) > 0 {
			out.Spec.Resources = &r
		}
	}
	for c := range podspec.Each(out) {
		if r, ok := given(c.Name); ok {
			c.Resources = v1.ResourceRequirements{Requests: maps.Clone(r.Requests), Limits: maps.Clone(r.Limits), Claims: r.Claims}
		}
	}
	return out
}
