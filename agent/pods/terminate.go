package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Terminate terminates everything of the pod that runs.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatingPod.
func (s *Syncer) Terminate(ctx context.Context, pod *v1.Pod, grace *int64, reason string, order uint64) error {
	s.initWait(ctx, pod, "")
	s.reached(ctx, pod, trace.MilestoneTerminating, false)
	if s.cfg.Probes != nil {
		s.cfg.Probes.StopLiveness(pod.UID)
	}
	s.publishStatus(ctx, pod) // the status of a failed pod is published before its grace period ends
	err := s.cfg.Runtime.Kill(ctx, pod, grace, reason, order)
	if err == nil {
		s.cfg.Store.with(pod.UID, func(e *entry) { e.kill.stop() })
	}
	if err == nil && s.cfg.Probes != nil {
		s.cfg.Probes.Remove(pod.UID)
	}
	s.publishStatus(ctx, pod)
	return err
}

// Clean releases the resources of a terminated pod. Its last phase is published before: its volumes may take long. If the pod was added
// again and always restarts, its containers and logs remain: its next life counts them as restarts.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatedPod.
func (s *Syncer) Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error {
	s.freed()
	if !remove {
		s.publishStatus(ctx, pod)
	}
	next := s.again(pod.UID)
	keep := next != nil && next.Spec.RestartPolicy == v1.RestartPolicyAlways
	if err := s.cfg.Runtime.Clean(ctx, pod, remove && !keep, order); err != nil {
		return err
	}
	s.release(pod)
	if !remove {
		latest := s.publishStatus(ctx, pod)
		if s.cfg.Statuses != nil {
			s.cfg.Statuses.Gone(ctx, latest)
		}
		return nil
	}
	s.cfg.Runtime.Forget(pod.UID)
	if s.cfg.Forget != nil {
		s.cfg.Forget(pod.UID)
	}
	if s.cfg.Statuses != nil {
		s.cfg.Statuses.Forget(pod.UID)
	}
	if s.cfg.Mirrors != nil {
		s.cfg.Mirrors.Remove(pod.UID)
	}
	s.cfg.Store.retire(pod.UID, func(old, next *entry) {
		gone := trace.Milestone{Name: trace.MilestoneGone}
		if old != nil && !old.ended.IsZero() {
			gone.Since = time.Since(old.ended)
		}
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), gone)
		if next != nil {
			s.mirror(next.pod)
			trace.Point(s.cfg.Bus, trace.FromContext(ctx), seen(next.pod, false))
		}
	})
	return nil
}

func (s *Syncer) mirror(pod *v1.Pod) {
	if s.cfg.Mirrors != nil && podspec.IsStatic(pod) {
		s.cfg.Mirrors.Add(pod)
	}
}

// again returns the pod as it was added again while it terminates; nil if it was not.
func (s *Syncer) again(uid types.UID) (next *v1.Pod) {
	s.cfg.Store.with(uid, func(e *entry) { next = e.again })
	return next
}

// release releases what was held for a pod without running containers.
func (s *Syncer) release(pod *v1.Pod) {
	if s.cfg.Probes != nil {
		s.cfg.Probes.Remove(pod.UID)
	}
	if s.again(pod.UID) != nil {
		return // it keeps what it has for its next life
	}
	if s.cfg.Objects != nil {
		s.cfg.Objects.Unregister(pod)
	}
	if s.cfg.Release != nil {
		s.cfg.Release(pod.UID)
	}
	s.freed()
}

func (s *Syncer) freed() {
	if s.cfg.Freed != nil {
		s.cfg.Freed()
	}
}
