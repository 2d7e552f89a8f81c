package volume

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
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

func (v verb) String() string { return string(v.op()) }

func (v verb) op() trace.VolumeOp {
	return [verbs]trace.VolumeOp{trace.VolumeSetup, trace.VolumeTeardown}[v]
}

// pod is what is wanted for one pod: volumes, or (released) that there be none.
type pod struct {
	ref      trace.Pod
	span     trace.Span // of the latest Mount or Unmount: operations are its children
	order    uint64     // of arrival
	released bool
	wanted   map[key]*wanted
	gone     bool          // released, and nothing is left
	changed  chan struct{} // closed at the next change to the pod or its volumes
	// claims are the pod's claims as they were resolved, by the volume's name in the pod.
	claims map[string]resolved
	// since is when the pod was first wanted; failed is set by a Mount that fails, until all is mounted.
	since  time.Time
	failed bool
}

// wanted is one volume that a pod wants.
type wanted struct {
	spec    Spec
	plugin  Plugin
	version string
	// names are the volume's in the pod: several may be of one claim.
	names []string
	// attach is the volume's name across nodes, if it is attached.
	attach v1.UniqueVolumeName
	// size is what the volume is to grow to; "" for as it is.
	size string
}

// state is what is known of one volume on the node.
type state struct {
	found   bool // on disk since before this agent started, and not looked at
	mounted bool
	version string
	result  criconfig.Volume
	attach  v1.UniqueVolumeName
	pv      string
	// stale is set when what the volume shows has changed, and refreshAt is when it will.
	stale     bool
	refreshAt time.Time
	size      string // it was made to grow to, or was found to need nothing
	seen      Sight  // when it was set up

	busy    bool
	doing   verb
	quit    chan struct{} // closed when what is set up is not wanted any more
	quiet   bool          // busy with a mounted volume that is good enough meanwhile
	failed  [verbs]uint64 // number of the last attempt that failed, from 1
	err     error         // of the last attempt; nil once one succeeds
	slow    bool          // the last attempt failed after it had overstayed its place
	fails   int           // in a row, and the pause after the last
	delay   time.Duration
	retryAt time.Time
}

// satisfies reports whether the volume can be used as it is wanted.
func (s *state) satisfies(w *wanted) bool {
	return s != nil && s.mounted && (!s.busy || s.quiet) && s.version == w.version
}

// due reports whether there is something to do to a volume that satisfies, and if not, when there
// will be; zero for never.
func (s *state) due(w *wanted, now time.Time) (bool, time.Time) {
	if s.stale || w.size != "" && s.size != w.size {
		return true, time.Time{}
	}
	if s.refreshAt.IsZero() || s.refreshAt.After(now) {
		return false, s.refreshAt
	}
	return true, time.Time{}
}

// fresh forgets the back-off, for when something else is wanted than what failed.
func (s *state) fresh() { s.fails, s.delay, s.retryAt = 0, 0, time.Time{} }

// fail notes a failed attempt.
func (s *state) fail(v verb, attempt uint64, err error, now time.Time) {
	s.err = err
	s.failed[v] = attempt
	s.delay = backoff.After(backoff.Doubling(firstDelay, lastDelay), s.fails)
	s.fails++
	s.retryAt = now.Add(s.delay)
}

// know returns the pod, new with what was found of it on disk if necessary. Called with the lock held.
func (m *Manager) know(ref trace.Pod, found []key) *pod {
	uid := types.UID(ref.UID)
	p := m.pods[uid]
	if p == nil {
		m.arrived++
		p = &pod{ref: ref, order: m.arrived, changed: make(chan struct{}), since: time.Now()}
		m.pods[uid] = p
		for _, k := range found {
			if m.states[k] == nil {
				m.states[k] = &state{found: true, attach: m.left[k]}
				delete(m.left, k)
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
