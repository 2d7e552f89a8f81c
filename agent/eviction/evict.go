package eviction

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// evict terminates a pod for a threshold.
func (m *Manager) evict(ctx context.Context, t *Threshold, seen observation, r *ranked, grace int64) {
	text, annotations := message(t, seen, r)
	m.cfg.Pods.Evict(ctx, r.pod, Order{
		Message: text, Annotations: annotations, Grace: grace, Disrupted: true,
		Decision: trace.Decision{
			By: trace.ByEviction, Subject: podspec.Ref(r.pod).String(), Verdict: trace.VerdictEnd, Code: Reason,
			Reason: fmt.Sprintf("the node is short of %s, and this pod is the first of the ranking", resourceOf(t.Signal)),
			Limit:  t.Free.of(seen.capacity), Signal: t.Signal,
			Inputs: []trace.KV{
				{K: "signal", V: name(t.Signal)},
				{K: "available", V: say.Amount(t.Signal, seen.available)},
				{K: "usage", V: say.Amount(t.Signal, r.usage)},
				{K: "request", V: say.Amount(t.Signal, r.request)},
				{K: "grace", V: fmt.Sprintf("%ds", grace)},
			},
		},
	})
}

// evictOver terminates a pod that exceeds a limit of local storage.
func (m *Manager) evictOver(ctx context.Context, pod *v1.Pod, e *exceeded) {
	d := trace.Decision{
		By: trace.ByEviction, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictEnd, Code: Reason, Reason: "it exceeds a limit of local storage",
		Limit: e.allow, Signal: e.limit, Measured: m.measuredBy(pod, e.volume),
		Inputs: []trace.KV{
			{K: "limit", V: say.Amount(trace.SignalNodeFS, e.allow)}, {K: "usage", V: say.Amount(trace.SignalNodeFS, e.used)},
		},
	}
	if d.Measured != "" {
		d.Inputs = append(d.Inputs, trace.KV{K: "measured by", V: string(d.Measured)})
	}
	m.cfg.Pods.Evict(ctx, pod, Order{Message: e.message, Grace: hardGrace, Decision: d})
}

// measuredBy returns how the usage of a volume is known; "" without a volume.
func (m *Manager) measuredBy(pod *v1.Pod, v *v1.Volume) trace.UsageSource {
	switch {
	case v == nil:
		return ""
	case m.cfg.Counted != nil && m.cfg.Counted(pod, v):
		return trace.MeasuredByQuota
	}
	return trace.MeasuredByScan
}
