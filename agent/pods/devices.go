package pods

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstatus"
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
	s.reject(ctx, pod, podstatus.Reason{Reason: unexpectedAdmission, Message: unexpected(err)})
	return true, nil
}
