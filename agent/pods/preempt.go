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

// preempting is the reason in the status of a preempted pod.
const preempting = "Preempting"

// preempted is the message of a preempted pod's condition DisruptionTarget.
const preempted = "Pod was preempted by Kubelet to accommodate a critical pod."

// giveWay terminates pods for a critical one, which starts when they have terminated: what they have is its own now. short is a resource that it
// lacks.
func (m *Manager) giveWay(ctx context.Context, pod *v1.Pod, victims []*v1.Pod, short v1.ResourceName) {
	m.preempt(ctx, pod, victims, short)
	var after []types.UID
	for _, v := range victims {
		m.cfg.Store.with(v.UID, func(e *entry) { e.freed = true })
		after = append(after, v.UID)
	}
	m.cfg.Store.with(pod.UID, func(e *entry) { e.after = after })
}

// preempt terminates pods for a critical one, except those that are preempted already. short is a resource that it lacks.
//
// Upstream: pkg/kubelet/preemption/preemption.go, evictPodsToFreeRequests.
func (m *Manager) preempt(ctx context.Context, pod *v1.Pod, victims []*v1.Pod, short v1.ResourceName) {
	ended := 0
	for _, v := range victims {
		span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(v))
		ctx := trace.ContextWith(ctx, span)
		why, again := podstatus.Reason{Reason: preempting, Message: "Preempted in order to admit critical pod"}, false
		m.cfg.Store.with(v.UID, func(e *entry) {
			if again = e.failed != nil && e.failed.Reason == preempting; !again {
				e.failed, e.disruption = &why, preempted
			}
		})
		if again {
			continue
		}
		ended++
		trace.Point(m.cfg.Bus, span, trace.Decision{
			By: trace.ByPreemption, Subject: podspec.Ref(v).String(), Verdict: trace.VerdictEnd, Code: why.Reason, Reason: "it is preempted for " + podspec.Ref(pod).String() + ", which is critical",
		})
		m.event(ctx, v, "Warning", why.Reason, why.Message)
		m.watchKill(ctx, v, podspec.GracePeriod(v, nil))
		m.cfg.Workers.Ask(v.UID, worker.Ask{Pod: v, End: true, Reason: why.Message, Cause: worker.Cause{Text: "preempted", Span: span}})
	}
	if ended > 0 {
		m.cfg.Store.preempted(ended, short)
	}
}
