package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
)

// networkRetry is how long to wait for the pod network before looking again.
const networkRetry = time.Second

// Runtime does to pods what is needed.
type Runtime interface {
	Sync(ctx context.Context, pod *v1.Pod, order uint64) (podruntime.Outcome, error)
	Kill(ctx context.Context, pod *v1.Pod, grace *int64, why string, order uint64) error
	Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error
	Reasons(uid types.UID) map[string]podruntime.Reason
	Forget(uid types.UID)
}

// Network tells whether pod networks can be made.
type Network interface {
	NetworkReady() (ok bool, why string)
}

// SyncerConfig is what a Syncer needs.
type SyncerConfig struct {
	Runtime Runtime
	Network Network
	Store   *Store
	Status  StatusFunc
	Bus     *trace.Bus
	// Gone, if set, is told when nothing of a pod is left.
	Gone func(uid types.UID)
}

// StatusFunc makes a pod's status from all that is known; previous is the last one.
type StatusFunc func(pod *v1.Pod, previous v1.PodStatus, reasons map[string]podruntime.Reason) (v1.PodStatus, trace.PodStatus)

// Syncer does the work of pod workers.
type Syncer struct{ cfg SyncerConfig }

// NewSyncer checks that everything is there.
func NewSyncer(cfg SyncerConfig) (*Syncer, error) {
	if cfg.Runtime == nil || cfg.Network == nil || cfg.Store == nil || cfg.Status == nil {
		return nil, errors.New("pods: SyncerConfig needs Runtime, Network, Store and Status")
	}
	return &Syncer{cfg: cfg}, nil
}

// Sync brings the pod towards its spec and says what became of it.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod.
func (s *Syncer) Sync(ctx context.Context, pod *v1.Pod, order uint64) (worker.Result, error) {
	if ok, why := s.cfg.Network.NetworkReady(); !ok && !pod.Spec.HostNetwork {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: "Warning", Reason: "NetworkNotReady", Message: "network is not ready: " + why})
		s.publishStatus(ctx, pod)
		return worker.Result{
			RetryAt: time.Now().Add(networkRetry),
			Wait:    trace.Wait{For: trace.WaitRuntime, On: "the pod network", Detail: why},
		}, nil
	}
	s.initWait(ctx, pod, "")
	out, err := s.cfg.Runtime.Sync(ctx, pod, order)
	s.initWait(ctx, pod, out.Init)
	if out.Running {
		s.reached(ctx, pod, "started", !out.Acted)
	}
	s.publishStatus(ctx, pod)
	res := worker.Result{Over: out.Finished, RetryAt: out.RetryAt}
	switch {
	case out.RetryAt.IsZero():
	case out.Early:
		res.Wait = trace.Wait{For: trace.WaitRuntime, On: "the runtime to tell of the latest action"}
	default:
		res.Wait = trace.Wait{For: trace.WaitBackoff, On: "a back-off to run out", Detail: waitingFor(s.cfg.Runtime.Reasons(pod.UID))}
	}
	return res, err
}

// Terminate ends everything of the pod that runs.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatingPod.
func (s *Syncer) Terminate(ctx context.Context, pod *v1.Pod, grace *int64, reason string, order uint64) error {
	s.initWait(ctx, pod, "")
	s.reached(ctx, pod, "terminating", false)
	err := s.cfg.Runtime.Kill(ctx, pod, grace, reason, order)
	s.publishStatus(ctx, pod)
	return err
}

// Clean releases what a terminated pod holds.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatedPod.
func (s *Syncer) Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error {
	if err := s.cfg.Runtime.Clean(ctx, pod, remove, order); err != nil {
		return err
	}
	if !remove {
		s.publishStatus(ctx, pod)
		return nil
	}
	e := s.cfg.Store.drop(pod.UID)
	gone := trace.Milestone{Name: "gone"}
	if e != nil && !e.ended.IsZero() {
		gone.Since = time.Since(e.ended)
	}
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), gone)
	s.cfg.Runtime.Forget(pod.UID)
	if e != nil && e.again != nil {
		s.cfg.Store.put(e.again, time.Now())
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Milestone{Name: "seen", Source: podid.Source(e.again), Spec: describe(e.again)})
	}
	if s.cfg.Gone != nil {
		s.cfg.Gone(pod.UID)
	}
	return nil
}

// reached publishes a milestone the first time that it is reached.
func (s *Syncer) reached(ctx context.Context, pod *v1.Pod, name string, adopted bool) {
	ms := trace.Milestone{Name: name, Adopted: adopted}
	first := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		ms.Since = time.Since(e.seenAt)
		switch name {
		case "started":
			first, e.started = !e.started, true
		case "ready":
			first, e.ready = !e.ready, true
		case "terminating":
			first, e.ending = !e.ending, true
			if e.ended.IsZero() {
				e.ended = time.Now()
			}
		}
	})
	if first {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), ms)
	}
}

// initWait names the time in which the pod only waits for an init container: it
// begins when a sync leaves one running and ends when the next sync begins.
func (s *Syncer) initWait(ctx context.Context, pod *v1.Pod, container string) {
	s.cfg.Store.with(pod.UID, func(e *entry) {
		if e.initWait.On != "" {
			trace.End(s.cfg.Bus, e.initSpan, e.initWait)
			e.initWait = trace.Wait{}
		}
		if container != "" {
			e.initWait = trace.Wait{For: trace.WaitInit, On: "init container " + container}
			e.initSpan = trace.Begin(s.cfg.Bus, trace.FromContext(ctx), e.initWait)
		}
	})
}

func waitingFor(reasons map[string]podruntime.Reason) string {
	for name, r := range reasons {
		return fmt.Sprintf("container %s: %s", name, r.Reason)
	}
	return ""
}

// publishStatus makes the pod's status anew and publishes it if views would show a change.
func (s *Syncer) publishStatus(ctx context.Context, pod *v1.Pod) {
	reasons := s.cfg.Runtime.Reasons(pod.UID)
	s.cfg.Store.with(pod.UID, func(e *entry) {
		e.pod = pod
		var said trace.PodStatus
		e.status, said = s.cfg.Status(pod, e.status, reasons)
		if !same(said, e.said) {
			e.said = said
			trace.Point(s.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podid.Ref(pod)), said)
		}
	})
	if s.isReady(pod.UID) {
		s.reached(ctx, pod, "ready", false)
	}
}

func (s *Syncer) isReady(uid types.UID) (ready bool) {
	s.cfg.Store.with(uid, func(e *entry) {
		for _, c := range e.status.Conditions {
			if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
				ready = true
			}
		}
	})
	return ready
}
