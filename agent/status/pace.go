package status

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// closely is the first wait of a change that follows a write, as a fraction of Settle. Each further one doubles it, up to
// Settle, until no write followed another for a Settle.
const closely = 5

// firstLimit is how long a pod's first status waits while pods wait for the runtime. If none does, it waits for firstLook: the pods that come together
// with it do not wait yet.
const (
	firstLimit = 10 * time.Second
	firstLook  = 20 * time.Millisecond
)

// endLimit is how long news of a pod that is being deleted waits while pods wait for the runtime, workLimit while it works on a pod.
const (
	endLimit  = 3 * time.Second
	workLimit = time.Second
)

// pace sets when the change from old to s may be written:
//
//   - a pod's first status, if it says only that the node has the pod, while pods wait for the runtime or 20 ms later: 10 s later. The API
//     server may be on the same small machine, and the first step of the pod's start takes the status along. Otherwise, 20 ms later.
//   - urgent: at once.
//   - of a pod that is being deleted, the observed generation, which is all that the deletion changes at first: Settle later. The end of
//     its last container: 100 ms later. Gone is often due within that time and takes both along. While pods wait for the runtime,
//     both wait up to 3 s, while it works on one, 1 s.
//   - a step of a start: Settle later. The end of the start, readiness, is urgent and takes it along.
//   - anything else: at once if the last write is a Settle ago. Otherwise the changes that follow are combined: 100 ms after that
//     write, and if they go on, 200, 400 and then 500 ms (with a Settle of 500 ms).
//
// It never delays a change that waits already. Upstream writes each change at once: pkg/kubelet/status/status_manager.go,
// updateStatusInternal.
func (m *Manager) pace(e *entry, old, s *v1.PodStatus, now time.Time) {
	waits := e.version != e.sent && (!e.busy || e.version != e.taken)
	var at time.Time
	yields := false
	e.asks = false
	switch {
	case e.version == 0:
		switch {
		case !first(old, s) || m.cfg.Busy == nil:
		case m.cfg.Busy():
			at = now.Add(firstLimit)
		default:
			at, e.asks = now.Add(firstLook), true
		}
	case e.pod.DeletionTimestamp != nil && !runs(s):
		at, yields = now.Add(m.cfg.Settle/closely), true
	case e.pod.DeletionTimestamp != nil && acknowledges(old, s):
		at, yields = now.Add(m.cfg.Settle), true
	case urgent(e.pod, old, s):
	case step(old, s):
		at = now.Add(m.cfg.Settle)
	case !e.busy && now.Sub(e.wrote) >= m.cfg.Settle:
		if !waits { // otherwise changes have followed each other all the time
			e.followed = 0
		}
	default:
		at = e.follow(now, m.cfg.Settle, waits)
	}
	if !waits || at.Before(e.settle) {
		e.settle = at
	}
	e.yields = yields && (!waits || e.yields)
}

// busyNode reports whether pods wait for the runtime.
func (m *Manager) busyNode() bool { return m.cfg.Busy != nil && m.cfg.Busy() }

// yieldLimit is how old the news of a pod that is being deleted may become.
func (m *Manager) yieldLimit() time.Duration {
	switch {
	case m.busyNode():
		return endLimit
	case m.cfg.Working != nil && m.cfg.Working():
		return workLimit
	}
	return 0
}

// follow returns when to write a change that follows a write closely. again says that another such change waits already.
func (e *entry) follow(now time.Time, settle time.Duration, again bool) time.Time {
	last, gap := e.wrote, settle
	if e.busy {
		last = now
	}
	if e.followed < closely { // limits the shift
		gap = min(gap, gap/closely<<e.followed)
		if !again {
			e.followed++
		}
	}
	return last.Add(gap)
}

// first reports whether s says only that the node has a pod that it did not have before.
func first(old, s *v1.PodStatus) bool {
	return old.StartTime == nil && s.Phase == v1.PodPending && s.Reason == "" &&
		advance(nil, s.InitContainerStatuses, true) && advance(nil, s.ContainerStatuses, false)
}

// urgent reports whether the change must be written at once.
func urgent(p *v1.Pod, old, s *v1.PodStatus) bool {
	return p.DeletionTimestamp != nil || old.Phase != s.Phase || readiness(old) != readiness(s)
}

func readiness(s *v1.PodStatus) v1.ConditionStatus {
	if c := condition(s, v1.PodReady); c != nil {
		return c.Status
	}
	return ""
}

// acknowledges reports whether the change is only that of the observed generation.
func acknowledges(old, s *v1.PodStatus) bool {
	o := *old
	o.ObservedGeneration = s.ObservedGeneration
	return same(&o, s)
}

// runs reports whether a container runs.
func runs(s *v1.PodStatus) bool {
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		if slices.ContainsFunc(list, func(c v1.ContainerStatus) bool { return c.State.Running != nil }) {
			return true
		}
	}
	return false
}

// step reports whether the change is only a step of a start, after which others follow soon: the pod is not ready, and its
// containers advance: created, running, started, ready, or an init container succeeded. A failure, a restart, an ephemeral
// container, a resize or a new generation of the spec is no step.
func step(old, s *v1.PodStatus) bool {
	if readiness(s) == v1.ConditionTrue || old.ObservedGeneration != s.ObservedGeneration ||
		!equality.Semantic.DeepEqual(old.EphemeralContainerStatuses, s.EphemeralContainerStatuses) {
		return false
	}
	for _, kind := range []v1.PodConditionType{v1.PodResizePending, v1.PodResizeInProgress} {
		if !equality.Semantic.DeepEqual(condition(old, kind), condition(s, kind)) {
			return false
		}
	}
	return advance(old.InitContainerStatuses, s.InitContainerStatuses, true) && advance(old.ContainerStatuses, s.ContainerStatuses, false)
}

func advance(old, list []v1.ContainerStatus, init bool) bool {
	for i := range list {
		c, before := &list[i], v1.ContainerStatus{}
		if n := slices.IndexFunc(old, func(o v1.ContainerStatus) bool { return o.Name == c.Name }); n >= 0 {
			before = old[n]
		}
		if before.RestartCount != c.RestartCount || before.Ready && !c.Ready {
			return false
		}
		if equality.Semantic.DeepEqual(before.State, c.State) {
			continue
		}
		w, t := c.State.Waiting, c.State.Terminated
		switch {
		case before.State.Terminated != nil,
			w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing",
			t != nil && (!init || t.ExitCode != 0):
			return false
		}
	}
	return true
}
