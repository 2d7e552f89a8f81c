package pods

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// giveWay terminates pods for a critical one, which starts when they have terminated. short is a resource that it lacks.
//
// Upstream: pkg/kubelet/preemption/preemption.go, evictPodsToFreeRequests.
func (m *Manager) giveWay(ctx context.Context, pod *v1.Pod, victims []*v1.Pod, short v1.ResourceName) {
	var after []types.UID
	for _, v := range victims {
		span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(v))
		ctx := trace.ContextWith(ctx, span)
		why := podstatus.Reason{Reason: "Preempting", Message: "Preempted in order to admit critical pod"}
		m.cfg.Store.with(v.UID, func(e *entry) { e.failed, e.disrupted, e.freed = &why, true, true })
		trace.Point(m.cfg.Bus, span, trace.Decision{
			By: trace.ByPreemption, Subject: podspec.Ref(v).String(), Verdict: trace.VerdictEnd, Code: why.Reason, Reason: "it is preempted for " + podspec.Ref(pod).String() + ", which is critical",
		})
		m.event(ctx, v, "Warning", why.Reason, why.Message)
		m.cfg.Workers.Ask(v.UID, worker.Ask{Pod: v, End: true, Reason: why.Message, Cause: worker.Cause{Text: "preempted", Span: span}})
		after = append(after, v.UID)
	}
	m.cfg.Store.with(pod.UID, func(e *entry) { e.after = after })
	if len(victims) > 0 {
		m.cfg.Store.preempted(len(victims), short)
	}
}
