package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
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

// Probes watches over running containers.
type Probes interface {
	// Add watches over the pod from now on; again for an update. Previous is its last status.
	Add(pod *v1.Pod, previous *v1.PodStatus)
	// StopLiveness ends what could restart a container.
	StopLiveness(uid types.UID)
	// Remove ends all.
	Remove(uid types.UID)
}

// Volumes are brought up to date when what they show of a pod changes.
type Volumes interface {
	Mount(ctx context.Context, pod *v1.Pod) (map[string]criconfig.Volume, error)
}

// Statuses brings statuses to the API server.
type Statuses interface {
	// Set returns at once.
	Set(ctx context.Context, pod *v1.Pod, st v1.PodStatus)
	// Gone says that nothing is left of a pod on this node, so that its object may go.
	Gone(ctx context.Context, pod *v1.Pod)
	// Observe takes what the API server has.
	Observe(ctx context.Context, uid types.UID, pod *v1.Pod)
	// Forget drops what is known of a pod that no source has.
	Forget(uid types.UID)
}

// Mirrors shows static pods in the API.
type Mirrors interface {
	Add(pod *v1.Pod)
	// Complete says that every static pod was added.
	Complete()
	Remove(uid types.UID)
}

// SyncerConfig is what a Syncer needs.
type SyncerConfig struct {
	Runtime Runtime
	Network Network
	Store   *Store
	Status  StatusFunc
	// Victim reports whether a pod that gives way still holds what it has.
	Victim func(uid types.UID) bool
	// Forget is told of pods of which nothing is left; may be nil.
	Forget func(uid types.UID)
	// LogsBy returns until when a container that failed may have a log that is not written to its end, which its
	// status shows; zero for none. May be nil.
	LogsBy func(uid types.UID) time.Time
	// Volumes, Probes, Statuses, Objects, Events and Mirrors may be nil.
	Volumes  Volumes
	Probes   Probes
	Statuses Statuses
	Objects  Objects
	Events   Events
	Mirrors  Mirrors
	Bus      *trace.Bus
}

// StatusInput is what a status is made from besides what the runtime has.
type StatusInput struct {
	Pod *v1.Pod
	// Previous is the last status.
	Previous v1.PodStatus
	Reasons  map[string]podruntime.Reason
	// Failed makes the pod Failed.
	Failed *podstatus.Reason
}

// StatusFunc makes a pod's status from all that is known.
type StatusFunc func(in StatusInput) (v1.PodStatus, trace.PodStatus)

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
	deadline := s.deadline(ctx, pod)
	if deadline.over {
		s.publishStatus(ctx, pod)
		return worker.Result{Over: true}, nil
	}
	if held, res := s.held(ctx, pod); held {
		return deadline.bound(res), nil
	}
	s.begin(ctx, pod)
	if s.cfg.Probes != nil {
		var previous *v1.PodStatus
		s.cfg.Store.with(pod.UID, func(e *entry) { previous = e.status.DeepCopy() })
		s.cfg.Probes.Add(pod, previous)
	}
	s.initWait(ctx, pod, "")
	out, err := s.cfg.Runtime.Sync(ctx, pod, order)
	s.initWait(ctx, pod, out.Init)
	if out.Running {
		s.reached(ctx, pod, "started", !out.Acted)
	}
	s.awaitLogs(ctx, pod)
	s.publishStatus(ctx, pod)
	if out.Running && err == nil {
		err = s.freshen(ctx, pod)
	}
	res := worker.Result{Over: out.Finished, RetryAt: out.RetryAt}
	switch {
	case out.RetryAt.IsZero():
	case out.Early:
		res.Wait = trace.Wait{For: trace.WaitRuntime, On: "the runtime to tell of the latest action"}
	default:
		res.Wait = waitFor(s.cfg.Runtime.Reasons(pod.UID))
	}
	return deadline.bound(res), err
}

// begin gives a pod that has none a first status: that it is here, and since when.
func (s *Syncer) begin(ctx context.Context, pod *v1.Pod) {
	known := false
	s.cfg.Store.with(pod.UID, func(e *entry) { known = !e.status.StartTime.IsZero() })
	if !known {
		s.publishStatus(ctx, pod)
	}
}

// awaitLogs lets a runtime write what a container said last: it tells of the end first.
func (s *Syncer) awaitLogs(ctx context.Context, pod *v1.Pod) {
	if s.cfg.LogsBy == nil {
		return
	}
	left := time.Until(s.cfg.LogsBy(pod.UID))
	if left <= 0 {
		return
	}
	wait := trace.Wait{For: trace.WaitRuntime, On: "the end of a log that the status shows"}
	span := trace.Begin(s.cfg.Bus, trace.FromContext(ctx), wait)
	select {
	case <-ctx.Done():
	case <-time.After(left):
	}
	trace.End(s.cfg.Bus, span, wait)
}

// freshen brings the volumes of a pod that runs up to date: labels that they show may have changed, and
// those of a pod that ran before this agent's time are to be kept fresh by it.
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

// showSame reports whether volumes show the same of two versions of a pod.
func showSame(a, b *v1.Pod) bool {
	return a == b || a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// held reports whether the pod cannot start yet, and when to look again.
func (s *Syncer) held(ctx context.Context, pod *v1.Pod) (bool, worker.Result) {
	ok, why := s.cfg.Network.NetworkReady()
	noNetwork := !ok && !pod.Spec.HostNetwork
	s.sayNetwork(ctx, pod, noNetwork, why)
	wait := trace.Wait{For: trace.WaitRuntime, On: "the pod network", Detail: why}
	if !noNetwork {
		n := s.victims(pod)
		if n == 0 {
			return false, worker.Result{}
		}
		wait = trace.Wait{For: trace.WaitPod, On: fmt.Sprintf("%d pods that give way to this one", n)}
	}
	s.publishStatus(ctx, pod)
	return true, worker.Result{RetryAt: time.Now().Add(networkRetry), Wait: wait}
}

// victims counts those that give way and have not ended yet.
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

// Terminate ends everything of the pod that runs.
//
// Upstream: pkg/kubelet/kubelet.go, SyncTerminatingPod.
func (s *Syncer) Terminate(ctx context.Context, pod *v1.Pod, grace *int64, reason string, order uint64) error {
	s.initWait(ctx, pod, "")
	s.reached(ctx, pod, "terminating", false)
	if s.cfg.Probes != nil {
		s.cfg.Probes.StopLiveness(pod.UID)
	}
	s.publishStatus(ctx, pod) // a pod that fails is told so before its grace period has passed
	err := s.cfg.Runtime.Kill(ctx, pod, grace, reason, order)
	if err == nil && s.cfg.Probes != nil {
		s.cfg.Probes.Remove(pod.UID)
	}
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
		gone := trace.Milestone{Name: "gone"}
		if old != nil && !old.ended.IsZero() {
			gone.Since = time.Since(old.ended)
		}
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), gone)
		if next != nil {
			s.mirror(next.pod)
			trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Milestone{Name: "seen", Source: podid.Source(next.pod), Spec: describe(next.pod)})
		}
	})
	return nil
}

func (s *Syncer) mirror(pod *v1.Pod) {
	if s.cfg.Mirrors != nil && podid.IsStatic(pod) {
		s.cfg.Mirrors.Add(pod)
	}
}

// release lets go of what was held for a pod of which nothing runs.
func (s *Syncer) release(pod *v1.Pod) {
	if s.cfg.Probes != nil {
		s.cfg.Probes.Remove(pod.UID)
	}
	if s.cfg.Objects == nil {
		return
	}
	again := false
	s.cfg.Store.with(pod.UID, func(e *entry) { again = e.again != nil })
	if !again {
		s.cfg.Objects.Unregister(pod)
	}
}

// Settle ends the waits that are open. Call it when no worker works any more.
func (s *Syncer) Settle() {
	s.cfg.Store.mu.Lock()
	defer s.cfg.Store.mu.Unlock()
	for _, e := range s.cfg.Store.pods {
		s.endInitWait(e)
	}
}

// sayNetwork publishes that the pod waits for the network, once for each reason.
func (s *Syncer) sayNetwork(ctx context.Context, pod *v1.Pod, waits bool, why string) {
	if !waits {
		why = ""
	}
	news := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		news = waits && e.network != why
		e.network = why
	})
	if news {
		s.event(ctx, pod, "Warning", "NetworkNotReady", "network is not ready: "+why)
	}
}

func (s *Syncer) event(ctx context.Context, pod *v1.Pod, kind, reason, message string) {
	if s.cfg.Events != nil {
		s.cfg.Events.Pod(ctx, pod, "", kind, reason, message)
		return
	}
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: kind, Reason: reason, Message: message})
}

// reached publishes a milestone the first time that it is reached. A pod that ends
// does not start any more, and none is ready before it has started.
func (s *Syncer) reached(ctx context.Context, pod *v1.Pod, name string, adopted bool) {
	ms := trace.Milestone{Name: name, Adopted: adopted}
	first := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		ms.Since = time.Since(e.seenAt)
		switch name {
		case "started":
			first = !e.started && !e.ending
			e.started = e.started || first
		case "ready":
			first = !e.ready && e.started && !e.ending
			e.ready = e.ready || first
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
		s.endInitWait(e)
		if container != "" {
			e.initWait = trace.Wait{For: trace.WaitInit, On: "init container " + container}
			e.initSpan = trace.Begin(s.cfg.Bus, trace.FromContext(ctx), e.initWait)
		}
	})
}

// endInitWait is called with the store's lock.
func (s *Syncer) endInitWait(e *entry) {
	if e.initWait.On != "" {
		trace.End(s.cfg.Bus, e.initSpan, e.initWait)
		e.initWait = trace.Wait{}
	}
}

// waitFor is the wait for containers that are held back, and why they are.
func waitFor(reasons map[string]podruntime.Reason) trace.Wait {
	wait := trace.Wait{For: trace.WaitBackoff, On: "the next try"}
	names := slices.Sorted(maps.Keys(reasons))
	switch len(names) {
	case 0:
	case 1:
		wait.On = "container " + names[0] + " to be tried again"
		if wait.Detail = reasons[names[0]].Reason; wait.Detail == "CrashLoopBackOff" {
			wait.On = "container " + names[0] + " to be restarted"
		}
	default:
		wait.On = "containers " + strings.Join(names, ", ") + " to be tried again"
		var why []string
		for _, name := range names {
			why = append(why, name+": "+reasons[name].Reason)
		}
		wait.Detail = strings.Join(why, ", ")
	}
	return wait
}

// PublishStatus makes the status of a pod anew, as when a probe has a result.
func (s *Syncer) PublishStatus(ctx context.Context, uid types.UID) {
	var pod *v1.Pod
	s.cfg.Store.with(uid, func(e *entry) { pod = e.pod })
	if pod != nil {
		s.publishStatus(ctx, pod)
	}
}

// publishStatus makes the pod's status anew, publishes it if views would show a change and hands it on. It
// returns the newest version of the pod.
func (s *Syncer) publishStatus(ctx context.Context, pod *v1.Pod) *v1.Pod {
	reasons := s.cfg.Runtime.Reasons(pod.UID)
	ctx = trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), podid.Ref(pod)))
	s.cfg.Store.with(pod.UID, func(e *entry) {
		pod = e.pod
		var said trace.PodStatus
		e.status, said = s.cfg.Status(StatusInput{Pod: pod, Previous: e.status, Reasons: reasons, Failed: e.failed})
		if !same(said, e.said) {
			e.said = said
			trace.Point(s.cfg.Bus, trace.FromContext(ctx), said)
		}
		if s.cfg.Statuses != nil {
			s.cfg.Statuses.Set(ctx, pod, *e.status.DeepCopy()) // with the lock: in the order in which they were made
		}
	})
	if s.isReady(pod.UID) {
		s.reached(ctx, pod, "ready", false)
	}
	return pod
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
