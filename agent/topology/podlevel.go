package topology

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// PodAllocator is a HintProvider that can give a pod with pod-level resources what it requests for all of its containers together.
type PodAllocator interface {
	// AllocatePod gives the pod what it requests, if possible from the nodes of the affinity, and the containers their parts of it. Its
	// errors are as those of Allocate.
	AllocatePod(ctx context.Context, pod *v1.Pod, affinity Hint) error
	// CheckPod returns why no NUMA nodes can give the pod what it requests, whatever is free; nil if some can.
	CheckPod(pod *v1.Pod) error
}

// EmptyPoolError says that the containers of a pod with pod-level resources that have nothing for themselves would have nothing to share.
//
// Upstream: pkg/kubelet/cm/admission/errors.go, EmptyPodSharedPoolError.
type EmptyPoolError struct{ Message string }

// Error implements error.
func (e *EmptyPoolError) Error() string { return e.Message }

// Reason is the reason in the status of the rejected pod.
func (*EmptyPoolError) Reason() string { return CodeEmptyPool }

// level reports whether the pod has pod-level resources that count.
func (m *Manager) level(pod *v1.Pod) bool {
	return m.podLevel && resourcehelper.IsPodLevelResourcesSet(pod)
}

// allocatePod has all providers give a pod with pod-level resources what it requests. One that cannot allocate for pods allocates for each
// container.
//
// Upstream: pkg/kubelet/cm/topologymanager/scope_pod.go, admitUsingPodResources. There, devices are allocated later, when the container is
// created.
func (m *Manager) allocatePod(ctx context.Context, pod *v1.Pod, best Hint, e *trace.Allocation) error {
	for _, p := range m.providers {
		if a, ok := p.HintProvider.(PodAllocator); ok {
			if err := a.AllocatePod(ctx, pod, best); err != nil {
				e.Source = trace.SourcePod
				return m.failed(e, p, "", best, err)
			}
			continue
		}
		for _, c := range allOf(pod) {
			if err := p.Allocate(ctx, pod, c, best); err != nil {
				return m.failed(e, p, c.Name, best, err)
			}
		}
	}
	return nil
}

// check adds to the hints of a provider why it has none for a pod with pod-level resources.
func (m *Manager) check(p Provider, pod *v1.Pod, hints []trace.ResourceHints) {
	a, ok := p.HintProvider.(PodAllocator)
	if !ok || m.scope != ScopePod || !m.level(pod) {
		return
	}
	if err := a.CheckPod(pod); err != nil {
		for i := range hints {
			hints[i].Err = err.Error()
		}
	}
}

// affinityMessage is the message of a pod that the policy does not admit.
func (m *Manager) affinityMessage(pod *v1.Pod) string {
	switch {
	case !m.level(pod):
		return "Resources cannot be allocated with Topology locality"
	case m.scope == ScopePod:
		return "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
	}
	return "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
}
