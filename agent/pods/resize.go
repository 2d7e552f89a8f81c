package pods

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// others returns the other pods that count in an admission or a resize, with the resources that they hold.
func (m *Manager) others(but types.UID) []*v1.Pod {
	list := m.cfg.Store.counted(but, m.cfg.Workers.State)
	if m.cfg.Resizes == nil {
		return list
	}
	for i, p := range list {
		list[i] = m.cfg.Resizes.Held(p)
	}
	return list
}

// allocate allocates resources to an admitted pod: those of its spec, or those that an earlier agent allocated. Whether it gets what it
// requests now is decided when all pods are known.
//
// Upstream: pkg/kubelet/kubelet.go, HandlePodAdditions.
func (m *Manager) allocate(pod *v1.Pod) *v1.Pod {
	if m.cfg.Resizes == nil {
		return pod
	}
	allocated := m.cfg.Resizes.Add(pod)
	m.undecided = m.undecided || allocated != pod
	return allocated
}

// resize decides about the resources that a pod's new spec requests, and returns the pod as allocated.
func (m *Manager) resize(ctx context.Context, old, pod *v1.Pod) *v1.Pod {
	if m.cfg.Resizes == nil {
		return pod
	}
	if old != nil {
		m.cfg.Resizes.Requested(ctx, old, pod)
	}
	if !m.SourcesReady() {
		return m.allocate(pod)
	}
	return m.decide(ctx, pod, trace.ResizeForUpdated)
}

// decide decides about a resize, and preempts the pods that a critical one needs for it. These count until they have terminated; then the resize
// is tried again.
func (m *Manager) decide(ctx context.Context, pod *v1.Pod, why trace.ResizeTrigger) *v1.Pod {
	allocated, p := m.cfg.Resizes.Update(ctx, pod, m.others(pod.UID), why)
	m.preempt(ctx, pod, p.Victims, p.Short)
	return allocated
}

// retryResizes retries the resizes that wait for free resources: another pod may have released some. Before every source has reported, it does
// nothing, because pods that are not known yet have resources, too.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, RetryPendingResizes.
func (m *Manager) retryResizes(ctx context.Context, why trace.ResizeTrigger) {
	if m.cfg.Resizes == nil || !m.SourcesReady() {
		return
	}
	m.undecided = false
	for _, pod := range m.cfg.Resizes.Waiting(m.cfg.Store.all()) {
		span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
		allocated := m.decide(trace.ContextWith(ctx, span), pod, why)
		m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: allocated, Cause: worker.Cause{Text: "resize", Span: span}})
	}
}

// Freed retries the resizes that wait: a pod has terminated, or the node has changed.
func (m *Manager) Freed(ctx context.Context, why trace.ResizeTrigger) { m.retryResizes(ctx, why) }

// triggerOf returns why waiting resizes are tried again after a change of a source.
func triggerOf(u podsource.Update) trace.ResizeTrigger {
	switch u.Op { //nolint:exhaustive // the others free what pods had
	case podsource.OpAdd:
		return trace.ResizeForAdded
	case podsource.OpUpdate:
		return trace.ResizeForUpdated
	case podsource.OpReconcile:
		if slices.ContainsFunc(u.Pods, func(p *v1.Pod) bool { return trace.PodPhase(p.Status.Phase).Terminal() }) {
			return trace.ResizeForTerminated
		}
		return trace.ResizeForResized
	}
	return trace.ResizeForRemoved
}
