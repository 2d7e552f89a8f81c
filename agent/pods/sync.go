package pods

import (
	"context"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Sync syncs a pod with its spec and returns the result.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod.
func (s *Syncer) Sync(ctx context.Context, pod *v1.Pod, order uint64) (worker.Result, error) {
	deadline := s.deadline(ctx, pod)
	if deadline.over || s.over(pod) {
		s.publishStatus(ctx, pod)
		return worker.Result{Over: true}, nil
	}
	if held, res := s.held(ctx, pod); held {
		return deadline.bound(res), nil
	}
	if err := s.awaitClean(ctx, pod); err != nil {
		return worker.Result{}, err
	}
	if s.cfg.Probes != nil {
		var previous *v1.PodStatus
		s.cfg.Store.with(pod.UID, func(e *entry) { previous = e.status.DeepCopy() })
		s.cfg.Probes.Add(pod, previous)
	}
	s.begin(ctx, pod)
	if deadline = s.deadline(ctx, pod); deadline.over { // an earlier agent started it
		s.publishStatus(ctx, pod)
		return worker.Result{Over: true}, nil
	}
	if lost, err := s.lost(ctx, pod); lost || err != nil {
		s.publishStatus(ctx, pod)
		return worker.Result{Over: lost}, err
	}
	s.initWait(ctx, pod, "")
	defer s.starting(pod.UID)()
	if rejected, err := s.allocate(ctx, pod); rejected || err != nil {
		return worker.Result{Over: rejected}, err
	}
	out, err := s.cfg.Runtime.Sync(ctx, pod, order, func(ctx context.Context) { s.PublishStatus(ctx, pod.UID) })
	if s.rejects(ctx, pod, err) {
		return worker.Result{Over: true}, nil
	}
	s.initWait(ctx, pod, out.Init)
	if out.Running {
		s.reached(ctx, pod, trace.MilestoneStarted, !out.Acted)
	}
	s.awaitLogs(ctx, pod)
	s.publishStatus(ctx, pod)
	if out.Running && err == nil {
		err = s.freshen(ctx, pod)
	}
	res := worker.Result{Over: out.Finished, RetryAt: out.RetryAt, Soon: out.Soon}
	switch {
	case out.RetryAt.IsZero():
	case out.Early:
		res.Wait = trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}}
	default:
		res.Wait = waitFor(s.cfg.Runtime.Reasons(pod.UID))
	}
	return deadline.bound(res), err
}

// over reports whether the API says that the pod has finished: somebody else has set its phase, and the node's resources count as free.
//
// Upstream: pkg/kubelet/pod_workers.go, UpdatePod.
func (s *Syncer) over(pod *v1.Pod) (is bool) {
	s.cfg.Store.with(pod.UID, func(e *entry) { is = over(e.pod) })
	return is
}

// starting reports the work for a pod that has not started, until the result is called.
func (s *Syncer) starting(uid types.UID) (done func()) {
	started := false
	s.cfg.Store.with(uid, func(e *entry) { started = e.started })
	if started || s.cfg.Starting == nil {
		return func() {}
	}
	return s.cfg.Starting()
}

// begin gives a pod without a status a first one, with its start time.
func (s *Syncer) begin(ctx context.Context, pod *v1.Pod) {
	known := false
	s.cfg.Store.with(pod.UID, func(e *entry) { known = !e.status.StartTime.IsZero() })
	if !known {
		s.publishStatus(ctx, pod)
	}
}

// awaitLogs waits until the runtime has written the container's last output: it reports the exit first.
func (s *Syncer) awaitLogs(ctx context.Context, pod *v1.Pod) {
	if s.cfg.LogsBy == nil {
		return
	}
	left := time.Until(s.cfg.LogsBy(pod.UID))
	if left <= 0 {
		return
	}
	wait := trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLog}}
	span := trace.Begin(s.cfg.Bus, trace.FromContext(ctx), wait)
	select {
	case <-ctx.Done():
	case <-time.After(left):
	}
	trace.End(s.cfg.Bus, span, wait)
}

// freshen updates the volumes of a running pod: labels that they show may have changed, and this agent must keep the
// volumes of a pod up to date that an earlier agent started.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which waits for the volumes each time.
func (s *Syncer) freshen(ctx context.Context, pod *v1.Pod) error {
	if s.cfg.Volumes == nil {
		return nil
	}
	shown := false
	s.cfg.Store.with(pod.UID, func(e *entry) { shown = e.shown != nil && showSame(e.shown, pod) })
	if shown {
		return nil
	}
	if _, err := s.cfg.Volumes.Mount(ctx, pod); err != nil {
		return err
	}
	s.cfg.Store.with(pod.UID, func(e *entry) { e.shown = pod })
	return nil
}

// showSame reports whether volumes show the same data for two versions of a pod.
func showSame(a, b *v1.Pod) bool {
	return a == b || a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// held reports whether the pod cannot start yet, and when to check again.
func (s *Syncer) held(ctx context.Context, pod *v1.Pod) (bool, worker.Result) {
	if up, why := s.cfg.Network.Ready(); !up {
		s.publishStatus(ctx, pod)
		wait := trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}}.WithCause(why)
		return true, worker.Result{RetryAt: time.Now().Add(networkRetry), Wait: wait}
	}
	ok, why := s.cfg.Network.NetworkReady()
	noNetwork := !ok && !pod.Spec.HostNetwork
	s.sayNetwork(ctx, pod, noNetwork)
	wait := trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetNetwork}}.WithCause(why)
	if !noNetwork {
		if wait, ok = s.gives(pod); !ok {
			return false, worker.Result{}
		}
	}
	s.publishStatus(ctx, pod)
	return true, worker.Result{RetryAt: time.Now().Add(networkRetry), Wait: wait}
}

// gives reports whether the pod waits for others to terminate: those that were preempted for it, and, before it has started, one that is
// evicted. A critical pod does not wait for that.
func (s *Syncer) gives(pod *v1.Pod) (trace.Wait, bool) {
	if n := s.victims(pod); n > 0 {
		return trace.Wait{For: trace.WaitPod, Target: trace.Target{Kind: trace.TargetPods}, Ahead: n}, true
	}
	if s.cfg.Evicting == nil || podspec.CriticalPod(pod) || !s.cfg.Evicting() {
		return trace.Wait{}, false
	}
	started := false
	s.cfg.Store.with(pod.UID, func(e *entry) { started = e.started })
	return trace.Wait{For: trace.WaitPod, Target: trace.Target{Kind: trace.TargetEvicted}}, !started
}

// victims counts the preempted pods that have not terminated yet.
func (s *Syncer) victims(pod *v1.Pod) int {
	var after []types.UID
	s.cfg.Store.with(pod.UID, func(e *entry) { after = e.after })
	n := 0
	for _, uid := range after {
		if s.cfg.Victim != nil && s.cfg.Victim(uid) {
			n++
		}
	}
	return n
}
