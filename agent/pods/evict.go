package pods

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/eviction"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Evict makes a pod fail and terminate. It returns immediately. Safe for concurrent use.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, evictPod; pkg/kubelet/pod_workers.go, killPodNow.
func (m *Manager) Evict(ctx context.Context, pod *v1.Pod, o eviction.Order) {
	span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
	ctx = trace.ContextWith(ctx, span)
	m.cfg.Store.with(pod.UID, func(e *entry) {
		e.failed, e.disrupted = &podstatus.Reason{Reason: eviction.Reason, Message: o.Message}, o.Disrupted
	})
	trace.Point(m.cfg.Bus, span, o.Decision)
	if m.cfg.Events != nil {
		m.cfg.Events.Annotated(ctx, pod, v1.EventTypeWarning, eviction.Reason, o.Message, o.Annotations)
	} else {
		trace.Point(m.cfg.Bus, span, trace.NodeEvent{Type: trace.EventWarning, Reason: eviction.Reason, Message: o.Message})
	}
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, End: true, Grace: &o.Grace, Reason: o.Message, Cause: worker.Cause{Text: "evicted", Span: span}})
}
