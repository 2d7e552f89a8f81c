package pods

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// unexpectedAdmission is the reason of a pod that did not get its devices.
//
// Upstream: pkg/kubelet/cm/admission/errors.go.
const unexpectedAdmission = "UnexpectedAdmissionError"

func unexpected(err error) string {
	return fmt.Sprintf("Allocate failed due to %v, which is unexpected", err)
}

// release frees what managers reserved for a pod.
func (m *Manager) release(uid types.UID) {
	if m.cfg.Resources != nil {
		m.cfg.Resources.Release(uid)
	}
	if m.cfg.Devices != nil {
		m.cfg.Devices.Release(uid)
	}
}

// allocate has device plugins allocate what was reserved for the pod, before anything of it is created. If that fails, the pod is
// rejected, as upstream rejects it at its admission.
func (s *Syncer) allocate(ctx context.Context, pod *v1.Pod) (rejected bool, err error) {
	if s.cfg.Devices == nil {
		return false, nil
	}
	err = s.cfg.Devices.Allocate(ctx, pod)
	if err == nil || ctx.Err() != nil {
		return false, err
	}
	s.cfg.Devices.Release(pod.UID)
	why := podstatus.Reason{Reason: unexpectedAdmission, Message: unexpected(err)}
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
	return true, nil
}
