package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// deadline is when a pod must have terminated.
type deadline struct {
	at   time.Time // zero for none
	over bool
}

// deadline checks whether the pod has been active for longer than it may. If so, the pod fails.
//
// Upstream: pkg/kubelet/active_deadline.go.
func (s *Syncer) deadline(ctx context.Context, pod *v1.Pod) (d deadline) {
	seconds := pod.Spec.ActiveDeadlineSeconds
	if seconds == nil {
		return d
	}
	first := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		if e.status.StartTime.IsZero() {
			return // it starts with this sync
		}
		if e.active.IsZero() {
			// From now on by our clock: setting the wall clock must neither end a pod nor extend its time.
			e.active = clock.Past(time.Now(), e.status.StartTime.Time)
		}
		d.at = e.active.Add(time.Duration(*seconds) * time.Second)
		if d.over = !time.Now().Before(d.at); d.over && e.failed == nil {
			first = true
			e.failed = &podstatus.Reason{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline"}
		}
	})
	if first {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Decision{
			By: trace.ByDeadline, Subject: pod.Namespace + "/" + pod.Name, Verdict: trace.VerdictEnd, Code: "DeadlineExceeded", Reason: "it has been active for longer than its activeDeadlineSeconds",
			Inputs: []trace.KV{{K: "activeDeadlineSeconds", V: time.Duration(*seconds * int64(time.Second)).String()}},
		})
		s.event(ctx, pod, "Normal", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
	}
	if d.at.IsZero() {
		d.at = time.Now().Add(time.Duration(*seconds) * time.Second)
	}
	return d
}

// bound makes sure that the worker checks the pod at its deadline.
func (d deadline) bound(res worker.Result) worker.Result {
	if !res.Over {
		res.CheckAt = d.at
	}
	return res
}
