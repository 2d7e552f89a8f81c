package pods

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// others returns the other pods that count in an admission or a resize, with their allocated resources.
func (m *Manager) others(but types.UID) []*v1.Pod {
	list := m.cfg.Store.active(but)
	if m.cfg.Resizes == nil {
		return list
	}
	for i, p := range list {
		list[i] = m.cfg.Resizes.Pod(p)
	}
	return list
}

// allocate allocates resources to an admitted pod: those of its spec, or those of a resize that an earlier agent
// allowed.
func (m *Manager) allocate(ctx context.Context, pod *v1.Pod) *v1.Pod {
	if m.cfg.Resizes == nil {
		return pod
	}
	allocated := m.cfg.Resizes.Add(pod)
	if allocated == pod {
		return pod
	}
	return m.cfg.Resizes.Update(ctx, pod, m.others(pod.UID))
}

// retryResizes retries the resizes that wait for free resources: another pod may have released some.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, RetryPendingResizes.
func (m *Manager) retryResizes(ctx context.Context) {
	if m.cfg.Resizes == nil {
		return
	}
	for _, pod := range m.cfg.Store.all() {
		if !m.cfg.Resizes.Pending(pod) {
			continue
		}
		span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
		allocated := m.cfg.Resizes.Update(trace.ContextWith(ctx, span), pod, m.others(pod.UID))
		m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: allocated, Cause: worker.Cause{Text: "resize", Span: span}})
	}
}
