package pods

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// rejection is an error with which a pod is rejected after its admission, and the reason for its status.
type rejection interface {
	error
	Rejection() string
}

// rejects rejects a pod that has not started, if its error requires that.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which does so if the node has too many volumes.
func (s *Syncer) rejects(ctx context.Context, pod *v1.Pod, err error) bool {
	why, ok := errors.AsType[rejection](err)
	if !ok || ctx.Err() != nil {
		return false
	}
	started := false
	s.cfg.Store.with(pod.UID, func(e *entry) { started = e.started })
	if started {
		return false
	}
	s.reject(ctx, pod, podstatus.Reason{Reason: why.Rejection(), Message: why.Error()})
	return true
}

// reject makes the pod Failed, as if it had been rejected at its admission.
//
// Upstream: pkg/kubelet/kubelet.go, rejectPod.
func (s *Syncer) reject(ctx context.Context, pod *v1.Pod, why podstatus.Reason) {
	s.cfg.Store.with(pod.UID, func(e *entry) {
		if e.failed == nil {
			e.failed = &podstatus.Reason{Reason: why.Reason, Message: "Pod was rejected: " + why.Message}
		}
	})
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Decision{
		By: trace.ByAdmission, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictReject, Code: why.Reason, Reason: why.Reason + ": " + why.Message,
	})
	s.event(ctx, pod, "Warning", why.Reason, why.Message)
	s.publishStatus(ctx, pod)
}
