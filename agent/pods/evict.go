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

// Evict makes a pod fail and terminate. One that is terminating already fails, too, and terminates sooner; if it was evicted before, it keeps
// its message and gets no other Event. One that has terminated by itself while its usage was measured stays as it ended. Evict returns
// immediately. Safe for concurrent use.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, evictPod; pkg/kubelet/pod_workers.go, killPodNow.
func (m *Manager) Evict(ctx context.Context, pod *v1.Pod, o eviction.Order) {
	if s := m.cfg.Workers.State(pod.UID); s != worker.Syncing && s != worker.Terminating {
		return
	}
	span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
	ctx = trace.ContextWith(ctx, span)
	again := false
	m.cfg.Store.with(pod.UID, func(e *entry) {
		if again = e.evicted(); !again {
			e.failed = &podstatus.Reason{Reason: eviction.Reason, Message: o.Message}
			if o.Disrupted {
				e.disruption = o.Message
			}
		}
	})
	trace.Point(m.cfg.Bus, span, o.Decision)
	if !again {
		m.sayEvicted(ctx, pod, &o)
	}
	m.watchKill(ctx, pod, o.Grace)
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, End: true, Grace: &o.Grace, Reason: o.Message, Cause: worker.Cause{Text: "evicted", Span: span}})
}

// evicted reports whether the pod was evicted, by this agent or, as its status says, by an earlier one.
func (e *entry) evicted() bool {
	return e.failed != nil && e.failed.Reason == eviction.Reason || e.status.Phase == v1.PodFailed && e.status.Reason == eviction.Reason
}

// sayEvicted sends the Event of an evicted pod.
func (m *Manager) sayEvicted(ctx context.Context, pod *v1.Pod, o *eviction.Order) {
	if m.cfg.Events != nil {
		m.cfg.Events.Annotated(ctx, pod, v1.EventTypeWarning, eviction.Reason, o.Message, o.Annotations)
		return
	}
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventWarning, Reason: eviction.Reason, Message: o.Message})
}
