package volume

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The back-off between attempts on one volume: it doubles from the first to the last.
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

// pod is the desired state of one pod: its volumes, or (released) none.
type pod struct {
	ref      trace.Pod
	span     trace.Span // of the latest Mount or Unmount, the parent of operations
	order    uint64     // of arrival
	released bool
	wanted   map[key]*wanted
	gone     bool          // released, and no volume is left
	changed  chan struct{} // closed at the next change to the pod or its volumes
	// claims are the pod's resolved claims, by the volume's name in the pod.
	claims map[string]resolved
	// since is when the pod was first desired. A Mount that fails sets failed, until all volumes are mounted.
	since  time.Time
	failed bool
}

// wanted is one desired volume of a pod.
type wanted struct {
	spec    Spec
	plugin  Plugin
	version string
	// invalid says why the volume can never be set up; nil if it can.
	invalid error
	// names are the volume's names in the pod: several volumes may use one claim.
	names []string
	// attach is the volume's attachment name, if it is attached.
	attach v1.UniqueVolumeName
	// size is the size for the expansion; "" for none.
	size string
	// label is the SELinux label that the volume needs, shared identifies the volume across pods, and turn is the order in which pods wanted
	// it. On a node without SELinux, and for volumes that pods cannot share, they are zero.
	label  selinux.Label
	shared string
	turn   uint64
}

// state is the actual state of one volume on the node.
//
// Many fields: the lock guards all of them, and plan needs most.
type state struct {
	found   bool // found on disk when the agent started, and not checked since
	mounted bool
	version string
	result  criconfig.Volume
	attach  v1.UniqueVolumeName
	from    origin // of the last setup
	label   mountLabel
	// stale says that the volume's content has changed; refreshAt is when it will change.
	stale     bool
	refreshAt time.Time
	size      size
	seen      Sight // when it was set up

	busy    bool
	doing   verb
	sole    bool          // busy with the setup of a volume that only one pod may have
	quit    chan struct{} // closed when the volume of a running setup is no longer desired
	quiet   bool          // busy with a mounted volume that is usable meanwhile
	failed  [verbs]uint64 // number of the last attempt that failed, from 1
	err     error         // of the last attempt; nil once one succeeds
	slow    bool          // the last attempt failed after it overstayed its slot
	fails   int           // failures in a row; delay is the back-off after the last
	delay   time.Duration
	retryAt time.Time
}

// size is the size of a volume on the node.
type size struct {
	to string // to which it was expanded, or that needed no expansion
	// has is that of its file system, by the claim when it was set up, and the one to which it was expanded.
	has resource.Quantity
}

// satisfies reports whether the volume is usable as desired.
func (s *state) satisfies(w *wanted) bool {
	return s != nil && s.mounted && (!s.busy || s.quiet) && s.version == w.version && w.invalid == nil
}

// due reports whether a volume that satisfies needs another operation now, and if not, when it will; zero for never.
func (s *state) due(w *wanted, now time.Time) (bool, time.Time) {
	if s.stale || w.size != "" && s.size.to != w.size {
		return true, time.Time{}
	}
	if s.refreshAt.IsZero() || s.refreshAt.After(now) {
		return false, s.refreshAt
	}
	return true, time.Time{}
}

// sized records the size of a volume that was set up, or expanded.
//
// Upstream: pkg/kubelet/volumemanager/cache/actual_state_of_world.go, InitializeClaimSize, MarkVolumeAsResized.
func (s *state) sized(w *wanted, expanded bool) {
	switch {
	case w.spec.PVC == nil:
	case expanded:
		s.size.has = NodeSize(w.spec.PVC, w.spec.PV)
	case s.size.has.IsZero():
		s.size.has = w.spec.PVC.Status.Capacity[v1.ResourceStorage]
	}
}

// fresh resets the back-off, because the desired state has changed.
func (s *state) fresh() { s.fails, s.delay, s.retryAt = 0, 0, time.Time{} }

// fail records a failed attempt.
func (s *state) fail(v verb, attempt uint64, err error, now time.Time) {
	s.err = err
	s.failed[v] = attempt
	if _, waited := errors.AsType[*NotAttachedError](err); waited {
		s.fails = 0
	}
	s.delay = backoff.After(backoff.Doubling(firstDelay, lastDelay), s.fails)
	s.fails++
	s.retryAt = now.Add(s.delay)
}

// know returns the pod; a new one gets the volumes that were found on disk. Called with mu.
func (m *Manager) know(ref trace.Pod, found []onDisk) *pod {
	uid := types.UID(ref.UID)
	p := m.pods[uid]
	if p == nil {
		m.arrived++
		p = &pod{ref: ref, order: m.arrived, changed: make(chan struct{}), since: time.Now()}
		m.pods[uid] = p
		for _, f := range found {
			if m.states[f.key] == nil {
				m.states[f.key] = &state{found: true, attach: m.left[f.key].attach, label: f.label}
				delete(m.left, f.key)
			}
		}
	}
	return p
}

// wake notifies everyone who waits for the pod. Called with mu.
func (p *pod) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// forget removes a released pod without volumes. Called with mu.
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
