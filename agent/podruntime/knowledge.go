package podruntime

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

// knowledge is the results of the agent's latest actions on a pod. An observation that does not show them yet is too
// old to plan from.
//
// Upstream waits for the cache to be newer than the last sync (pkg/kubelet/container/cache.go, GetNewerThan); knowing
// what must be in it needs no waiting.
type knowledge struct {
	mounted bool // this agent has mounted the volumes and keeps them up to date; whether they still exist is checked separately
	// noCgroup says that this agent has removed the pod's cgroup, and that nothing of the pod was made or found running since.
	noCgroup  bool
	sandboxes map[string]bool // id → ready
	// stopped are the sandboxes whose StopPodSandbox has succeeded. A sandbox can be not ready without it.
	stopped    map[string]bool
	containers map[string]podstate.State
	// removed are containers that were removed.
	removed map[string]bool
	// hooked are the containers whose preStop hook has run.
	hooked map[string]bool
	// told is the last request that told the runtime the limits of the pod's cgroup; without limits if it failed, nil if none was needed yet.
	told *runtimeapi.UpdatePodSandboxResourcesRequest
	// unsure says that a call failed that may nevertheless have had its effect.
	unsure bool
	// fresh is when the latest action succeeded; init is the init container that the pod
	// waited for then.
	fresh time.Time
	init  string
	// failed says that the last attempt to run the pod failed. slow says that the pod overstayed its slot in that
	// attempt or an earlier one, and no attempt has succeeded since; slowEnd says the same of its termination.
	failed, slow, slowEnd bool
	// claimFails counts attempts to prepare the pod's claims that failed, since one succeeded.
	claimFails int
	// hopelessAt is when the last Event said that the pod's volumes can never be mounted.
	hopelessAt time.Time
}

// tellTime is how long the agent waits for the runtime's events about an action before it asks. Asking at once would
// cost the runtime a handful of calls in the middle of a start.
const tellTime = time.Second

func (r *Runtime) knowledgeOf(uid types.UID) *knowledge {
	k := r.known[uid]
	if k == nil {
		k = &knowledge{
			sandboxes: map[string]bool{}, stopped: map[string]bool{}, containers: map[string]podstate.State{}, removed: map[string]bool{},
			hooked: map[string]bool{},
		}
		r.known[uid] = k
	}
	return k
}

// doubt records a failed call with an unknown outcome: it was canceled, or its answer was lost. The agent asks the
// runtime before the next plan.
func (r *Runtime) doubt(uid types.UID) {
	r.learn(uid, func(k *knowledge) { k.unsure = true })
}

// acted records the result of an action.
func (r *Runtime) acted(uid types.UID, f func(*knowledge)) {
	r.learn(uid, func(k *knowledge) {
		f(k)
		k.fresh = time.Now()
	})
}

// learn records a fact.
func (r *Runtime) learn(uid types.UID, f func(*knowledge)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.knowledgeOf(uid))
}

// turn returns the pod's turn in the queue for runtime work.
func (r *Runtime) turn(pod *v1.Pod, seen *podstate.Pod, plan *Plan, order uint64) semaphore.Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return turnOf(pod, seen, plan, r.knowledgeOf(pod.UID), order)
}

// went records the result of a plan, for the turn of the next one.
func (r *Runtime) went(uid types.UID, plan *Plan, overstayed bool, err error) {
	r.learn(uid, func(k *knowledge) {
		slow := &k.slow
		if plan.Ending {
			slow = &k.slowEnd
		} else {
			k.failed = err != nil
		}
		*slow = err != nil && (overstayed || *slow)
	})
}

func (r *Runtime) hasMounted(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.knowledgeOf(uid).mounted
}

// covers reports whether the observation shows all known results.
func (k *knowledge) covers(p *podstate.Pod) bool {
	if k.unsure {
		return false
	}
	for id, ready := range k.sandboxes {
		if !showsSandbox(p, id, ready) {
			return false
		}
	}
	for id, state := range k.containers {
		c := p.Container(id)
		if c == nil || c.State != podstate.Unknown && c.State < state {
			return false
		}
	}
	for id := range k.removed {
		if p.Container(id) != nil {
			return false
		}
	}
	return true
}

// stop records that a sandbox was stopped, and forgets those that the runtime no longer has.
func (k *knowledge) stop(id string, seen *podstate.Pod) {
	maps.DeleteFunc(k.stopped, func(old string, _ bool) bool {
		return !slices.ContainsFunc(seen.Sandboxes, func(s podstate.Sandbox) bool { return s.ID == old })
	})
	k.stopped[id] = true
}

// stoppedOf returns the pod's sandboxes that this agent has stopped.
func (r *Runtime) stoppedOf(uid types.UID) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.knowledgeOf(uid).stopped)
}

func showsSandbox(p *podstate.Pod, id string, ready bool) bool {
	if p == nil {
		return false
	}
	for _, s := range p.Sandboxes {
		if s.ID == id {
			return ready || !s.Ready // the sandbox may have stopped since, but it cannot become ready again
		}
	}
	return false
}

// tells returns when the runtime should have reported the pod's latest action; zero if it has, or if the agent must ask
// now.
func (r *Runtime) tells(uid types.UID) (at time.Time, init string) {
	seen := r.cfg.Observer.Get(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.knowledgeOf(uid)
	age := time.Since(k.fresh)
	switch {
	case k.unsure:
	case k.covers(seen):
		if age > 10*tellTime { // all of it has been shown for a long time
			clear(k.sandboxes)
			clear(k.containers)
			clear(k.removed)
		}
	case age < tellTime:
		return k.fresh.Add(tellTime), k.init
	}
	return time.Time{}, ""
}

// observe returns an observation that shows the agent's own actions.
func (r *Runtime) observe(ctx context.Context, uid types.UID) (*podstate.Pod, error) {
	seen := r.cfg.Observer.Get(uid)
	r.mu.Lock()
	enough := r.knowledgeOf(uid).covers(seen) && (seen == nil || !seen.Unseen)
	r.mu.Unlock()
	if enough {
		return seen, nil
	}
	seen, err := r.cfg.Observer.Refresh(ctx, uid)
	if err != nil {
		return nil, err
	}
	// The runtime's answer is final: what it does not show is gone.
	r.learn(uid, func(k *knowledge) {
		clear(k.sandboxes)
		clear(k.containers)
		clear(k.removed)
		k.unsure = false
	})
	return seen, nil
}

// Forget removes everything about a pod that is gone.
func (r *Runtime) Forget(uid types.UID) {
	r.mu.Lock()
	delete(r.known, uid)
	delete(r.reasons, uid)
	delete(r.verdicts, uid)
	r.mu.Unlock()
	r.cfg.Backoff.forget(uid)
	r.cfg.Images.Forget(string(uid))
}
