package pods

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// admit runs admission and publishes the verdict. It always admits a pod that already runs. A pod that an earlier agent has admitted is
// admitted with the resources that it was allocated then, not with those of a resize.
func (m *Manager) admit(span trace.Span, pod *v1.Pod, adopted bool) admission.Verdict {
	if m.cfg.Resizes != nil {
		pod = m.cfg.Resizes.Pod(pod)
	}
	in := admission.Inputs{Pod: pod, Others: m.others(pod.UID), MaxPods: m.cfg.MaxPods}
	if m.cfg.Node != nil {
		m.cfg.Node(&in)
	}
	in.Reserve = m.reserves(span, pod)
	d := trace.Decision{By: trace.ByAdmission, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictAdmit, Reason: "all checks passed"}
	v := admission.Verdict{OK: true}
	switch {
	case adopted:
		d.Reason = "its containers run already: it is adopted"
		if in.Reserve != nil {
			if r := in.Reserve(); !r.OK {
				d.Reason += ", but it has not all of the CPUs, memory and devices that it requests: " + r.Message
			}
		}
	default:
		v = admission.Check(in)
	}
	switch {
	case !v.OK:
		m.release(pod.UID)
		d.Verdict, d.Code, d.Reason = trace.VerdictReject, v.Reason, v.Reason+": "+v.Message
		if v.Detail != "" {
			d.Reason += " (" + v.Detail + ")"
		}
	case len(v.Preempt) > 0:
		d.Reason = fmt.Sprintf("it is critical: %d pods give way", len(v.Preempt))
	}
	trace.Point(m.cfg.Bus, span, d)
	if v.OK {
		m.cfg.Store.admitted(pod)
	}
	return v
}

// reserves returns the part of admission that gives the pod what managers have for single pods; nil without managers. A pod that runs already
// keeps what it has.
func (m *Manager) reserves(span trace.Span, pod *v1.Pod) func() admission.Verdict {
	if m.cfg.Resources == nil {
		return nil
	}
	return func() admission.Verdict {
		return m.cfg.Resources.Reserve(trace.ContextWith(context.Background(), span), pod)
	}
}

// reject makes a pod Failed that was not admitted. One that the node's shutdown has ended meanwhile has failed already, and has a worker.
func (m *Manager) reject(ctx context.Context, pod *v1.Pod, v admission.Verdict) {
	ctx = trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod)))
	st, ended := podstatus.Rejected(pod, podstatus.Reason{Reason: v.Reason, Message: v.Message}, time.Now()), false
	m.cfg.Store.with(pod.UID, func(e *entry) {
		if ended = e.failed != nil; ended {
			return
		}
		e.status, e.own, e.said, e.refused = st, true, statusRecord(st, ""), true
		m.cfg.Store.tell(pod.UID)
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), e.said)
	})
	if ended {
		return
	}
	m.rejected[pod.UID] = true
	m.unregister(pod)
	m.event(ctx, pod, "Warning", v.Reason, v.Message)
	if m.cfg.Statuses != nil {
		m.cfg.Statuses.Set(ctx, pod, st)
	}
}

// unmet warns that a new version of a pod needs features that the node does not declare. The update takes place all the same.
//
// Upstream: pkg/kubelet/kubelet.go, HandlePodUpdates.
func (m *Manager) unmet(ctx context.Context, old, pod *v1.Pod) {
	if old == nil {
		return
	}
	if message := m.cfg.Features.Unmet(old, pod); message != "" {
		ctx = trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod)))
		m.event(ctx, pod, v1.EventTypeWarning, "FailedNodeDeclaredFeaturesCheck", message)
	}
}
