package volume

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The back-off between attempts at one volume: it doubles from the first to the last.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff.
const (
	firstDelay = 500 * time.Millisecond
	lastDelay  = 2*time.Minute + 2*time.Second
)

// verb is what an operation does.
type verb int

const (
	setUp verb = iota
	tearDown
	verbs
)

func (v verb) String() string { return [verbs]string{"setup", "teardown"}[v] }

// pod is what is wanted for one pod: volumes, or (released) that there be none.
type pod struct {
	ref      trace.Pod
	span     trace.Span // of the latest Mount or Unmount: operations are its children
	order    uint64     // of arrival
	released bool
	wanted   map[key]*wanted
	gone     bool          // released, and nothing is left
	changed  chan struct{} // closed at the next change to the pod or its volumes
}

// wanted is one volume that a pod wants.
type wanted struct {
	spec    Spec
	plugin  Plugin
	version string
}

// state is what is known of one volume on the node.
type state struct {
	found   bool // on disk since before this agent started, and not looked at
	mounted bool
	version string
	result  criconfig.Volume

	busy    bool
	doing   verb
	failed  [verbs]uint64 // number of the last attempt that failed, from 1
	err     error         // of the last attempt; nil once one succeeds
	delay   time.Duration
	retryAt time.Time
}

// satisfies reports whether the volume is as it is wanted.
func (s *state) satisfies(w *wanted) bool {
	return s != nil && s.mounted && !s.busy && s.version == w.version
}

// fresh forgets the back-off, for when something else is wanted than what failed.
func (s *state) fresh() { s.delay, s.retryAt = 0, time.Time{} }

// fail notes a failed attempt.
func (s *state) fail(v verb, attempt uint64, err error, now time.Time) {
	s.err = err
	s.failed[v] = attempt
	s.delay = min(max(firstDelay, 2*s.delay), lastDelay)
	s.retryAt = now.Add(s.delay)
}

// know returns the pod, new with what was found of it on disk if need be. Called with the lock held.
func (m *Manager) know(ref trace.Pod, found []key) *pod {
	uid := types.UID(ref.UID)
	p := m.pods[uid]
	if p == nil {
		m.arrived++
		p = &pod{ref: ref, order: m.arrived, changed: make(chan struct{})}
		m.pods[uid] = p
		for _, k := range found {
			if m.states[k] == nil {
				m.states[k] = &state{found: true}
			}
		}
	}
	return p
}

// wake has everybody who waits for the pod look again. Called with the lock held.
func (p *pod) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// forget drops a released pod of which nothing is left. Called with the lock held.
func (m *Manager) forget(uid types.UID) {
	p := m.pods[uid]
	if p == nil || !p.released {
		return
	}
	for k := range m.states {
		if k.uid == uid {
			return
		}
	}
	p.gone = true
	delete(m.pods, uid)
	p.wake()
}
