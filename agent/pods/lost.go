package pods

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lost reports whether the pod has finished although the runtime does not have containers of it that ran: according to its last status, none of
// them runs again. A plan knows only what the runtime has, and would start them. The runtime is asked first: what was seen may be incomplete.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, where a status with a terminal phase ends the pod before anything else is done.
func (s *Syncer) lost(ctx context.Context, pod *v1.Pod) (is bool, err error) {
	if s.cfg.Observer == nil || podspec.CouldRestartAll(&pod.Spec) { // such a restart removes its containers
		return false, nil
	}
	if !s.misses(pod.UID, s.cfg.Observer.Get(pod.UID)) {
		return false, nil
	}
	seen, err := s.cfg.Observer.Refresh(ctx, pod.UID)
	if err != nil || !s.misses(pod.UID, seen) {
		return false, err
	}
	reasons := s.cfg.Runtime.Reasons(pod.UID)
	s.cfg.Store.with(pod.UID, func(e *entry) {
		st, _ := s.cfg.Status(StatusInput{Pod: e.pod, Previous: e.status, Reasons: reasons})
		is = trace.PodPhase(st.Phase).Terminal()
	})
	return is, nil
}

// misses reports whether containers that ran, according to the pod's last status, are not among those that were seen.
func (s *Syncer) misses(uid types.UID, seen *podstate.Pod) (is bool) {
	gone := func(c v1.ContainerStatus) bool {
		ran := c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
		return ran && seen.Newest(c.Name) == nil
	}
	s.cfg.Store.with(uid, func(e *entry) {
		is = slices.ContainsFunc(e.status.ContainerStatuses, gone) || slices.ContainsFunc(e.status.InitContainerStatuses, gone)
	})
	return is
}
