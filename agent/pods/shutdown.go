package pods

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ShutDown makes a pod fail and terminate because the node shuts down, with a grace period in seconds. A pod that has succeeded only has to
// terminate sooner, and one that was rejected has nothing to terminate. ShutDown returns immediately. Safe for concurrent use.
//
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, killPods.
func (m *Manager) ShutDown(ctx context.Context, pod *v1.Pod, grace int64) {
	span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
	why := podstatus.Reason{Reason: "Terminated", Message: "Pod was terminated in response to imminent node shutdown."}
	rejected := false
	m.cfg.Store.with(pod.UID, func(e *entry) {
		rejected = e.refused
		if !rejected && e.status.Phase != v1.PodSucceeded && e.failed == nil {
			e.failed, e.disruption = &why, why.Message
		}
	})
	if rejected {
		return
	}
	trace.Point(m.cfg.Bus, span, trace.Decision{
		By: trace.ByShutdown, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictEnd, Code: why.Reason, Reason: "the node is shutting down",
		Inputs: []trace.KV{{K: "grace", V: fmt.Sprintf("%ds", grace)}},
	})
	m.watchKill(trace.ContextWith(ctx, span), pod, grace)
	m.cfg.Workers.Ask(pod.UID, worker.Ask{Pod: pod, End: true, Grace: &grace, Reason: why.Message, Cause: worker.Cause{Text: "node shutdown", Span: span}})
}
