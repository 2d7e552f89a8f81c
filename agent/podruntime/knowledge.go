package podruntime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

// knowledge is what the agent knows of its own latest actions on a pod. An
// observation that does not show them yet is too old to plan from.
//
// Upstream waits for the cache to be newer than the last sync
// (pkg/kubelet/container/cache.go, GetNewerThan); knowing what must be in it needs no waiting.
type knowledge struct {
	mounted    bool            // the volumes were asked for by this agent, which keeps them fresh; whether they are there is looked at
	sandboxes  map[string]bool // id → ready
	containers map[string]podstate.State
	// removed are containers that are gone.
	removed map[string]bool
	// hooked are the containers whose preStop hook has been run.
	hooked map[string]bool
	// unsure says that a call failed that may have had its effect all the same.
	unsure bool
	// fresh is when the latest action succeeded; init is the init container that the pod
	// waited for then.
	fresh time.Time
	init  string
	// failed says that the last attempt to run the pod failed; slow and slowEnd that the last one, or the last
	// attempt to end it, overstayed its slot and has not gone well since.
	failed, slow, slowEnd bool
}

// tellTime is how long the runtime gets to tell of an action by itself, after which
// it is asked. Asking at once would cost it a handful of calls in the middle of a start.
const tellTime = time.Second

func (r *Runtime) knowledgeOf(uid types.UID) *knowledge {
	k := r.known[uid]
	if k == nil {
		k = &knowledge{
			sandboxes: map[string]bool{}, containers: map[string]podstate.State{}, removed: map[string]bool{}, hooked: map[string]bool{},
		}
		r.known[uid] = k
	}
	return k
}

// doubt notes that a call failed of which nobody knows what it did: it was cut
// short, or its answer was lost. The runtime is asked before the next plan.
func (r *Runtime) doubt(uid types.UID) {
	r.learn(uid, func(k *knowledge) { k.unsure = true })
}

// acted notes the outcome of an action.
func (r *Runtime) acted(uid types.UID, f func(*knowledge)) {
	r.learn(uid, func(k *knowledge) {
		f(k)
		k.fresh = time.Now()
	})
}

// learn notes a fact.
func (r *Runtime) learn(uid types.UID, f func(*knowledge)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.knowledgeOf(uid))
}

// turn is the pod's place in the queue for runtime work.
func (r *Runtime) turn(pod *v1.Pod, seen *podstate.Pod, plan *Plan, order uint64) semaphore.Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return turnOf(pod, seen, plan, r.knowledgeOf(pod.UID), order)
}

// went notes how a plan went, for the turn of the next one.
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

// covers reports whether the observation shows all that is known.
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

func showsSandbox(p *podstate.Pod, id string, ready bool) bool {
	if p == nil {
		return false
	}
	for _, s := range p.Sandboxes {
		if s.ID == id {
			return ready || !s.Ready // one that was made may have died since, not the reverse
		}
	}
	return false
}

// tells returns when the runtime should have told of the pod's latest action; zero
// when it has, or when it must be asked now.
func (r *Runtime) tells(uid types.UID) (at time.Time, init string) {
	seen := r.cfg.Observer.Get(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.knowledgeOf(uid)
	age := time.Since(k.fresh)
	switch {
	case k.unsure:
	case k.covers(seen):
		if age > 10*tellTime { // all that was known has long been shown
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
	// The runtime has the last word: what it does not show is gone.
	r.learn(uid, func(k *knowledge) {
		clear(k.sandboxes)
		clear(k.containers)
		clear(k.removed)
		k.unsure = false
	})
	return seen, nil
}

// Forget drops everything about a pod that is gone.
func (r *Runtime) Forget(uid types.UID) {
	r.mu.Lock()
	delete(r.known, uid)
	delete(r.reasons, uid)
	delete(r.verdicts, uid)
	r.mu.Unlock()
	r.cfg.Backoff.forget(uid)
	r.cfg.Images.Forget(string(uid))
	if r.cfg.UserNS != nil {
		r.cfg.UserNS.Release(uid)
	}
}
