package step

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// ErrQuit is the runner's error when the person quits: no further action of the plan may run.
var ErrQuit = errors.New("stepping was quit")

// lookFor is the timeout of a snapshot: a person waits for the stop.
const lookFor = 5 * time.Second

// Snapshotter lists what exists of a pod on the node, one line each.
type Snapshotter interface {
	Snapshot(ctx context.Context, pod trace.Pod) []string
}

// Only limits a session to a part of a pod's life.
type Only string

// The parts of a life; the zero value means all of it.
const (
	Creation Only = "creation"
	Deletion Only = "deletion"
)

// Config is the configuration of a session.
type Config struct {
	// Pod is the stepped pod; if UID is empty, namespace and name identify it.
	Pod trace.Pod
	// Attached says that the pod does not belong to the session: a quit does not delete it.
	Attached bool
	// Only is the part of the pod's life that is stepped.
	Only Only
	// Snapshot may be nil: then changes are not reported.
	Snapshot Snapshotter
	Bus      *trace.Bus
}

func (c *Config) check() error {
	if c.Pod.Namespace == "" || c.Pod.Name == "" {
		return errors.New("step: no pod named to step through: want NAMESPACE/NAME")
	}
	switch c.Only {
	case "", Creation, Deletion:
		return nil
	}
	return fmt.Errorf("step: only %q: want creation or deletion", c.Only)
}

// pace is how far a released pod goes.
type pace uint8

const (
	toAction pace = iota // to the next action, or to one that failed
	toCall               // also to the next call
	toBreak              // to a breakpoint
)

// Session steps through one pod. Safe for concurrent use.
//
// Many fields: a session combines a pod, its plan, the client and its commands.
type Session struct {
	cfg   Config
	stops chan Stop
	turn  chan struct{} // full while an action is at the gate
	left  chan struct{} // closed when the person has disconnected
	gone  func()        // called once when the session is closed

	mu      sync.Mutex
	open    bool // permanently
	quit    bool
	pace    pace
	breaks  breakpoints
	until   trace.MilestoneName // the milestone at which to stop again
	waiting chan answer         // receives the answer for the paused action
	stop    Stop
	object  []byte             // the pod at the stop, as JSON
	look    context.CancelFunc // cancels the running snapshot
	first   []string           // the first snapshot of this pod
	last    []string           // the last snapshot
	uid     string             // pod of the snapshots
	plan    []string           // the IDs of the current plan
	steps   []trace.PlanStep
	why     string            // of that plan
	ended   map[string]Action // of that plan
	passed  []Milestone
	sync    trace.Sync // the current sync, as far as it is known
}

// New returns a session that stops before the first action.
func New(cfg Config) (*Session, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Session{
		cfg: cfg, stops: make(chan Stop, 1), turn: make(chan struct{}, 1), left: make(chan struct{}), gone: func() {},
		ended: map[string]Action{},
	}, nil
}

// Stops delivers a stop when an action is paused, or a change of state while none is. It holds only the newest stop,
// and is never closed.
func (s *Session) Stops() <-chan Stop { return s.stops }

// Holds implements the runner's gate.
func (s *Session) Holds(pod trace.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.open && !s.quit && s.matches(pod)
}

func (s *Session) matches(pod trace.Pod) bool {
	if s.cfg.Pod.UID != "" {
		return pod.UID == s.cfg.Pod.UID
	}
	return pod.Namespace == s.cfg.Pod.Namespace && pod.Name == s.cfg.Pod.Name
}

// wants reports whether this part of the pod's life is stepped.
func (s *Session) wants(q *gate.Question) bool {
	return s.matches(q.Pod) && (s.cfg.Only == "" || (s.cfg.Only == Deletion) == q.Ending)
}

// Waiting returns the stop of the currently paused action.
func (s *Session) Waiting() (Stop, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return Stop{}, false
	}
	return s.stop, true
}

// offer sends a stop to the client. It replaces one that was not received, because only the newest is true. Called with
// mu.
func (s *Session) offer(stop Stop) {
	select {
	case <-s.stops:
	default:
	}
	s.stops <- stop // there is room: only this function sends, with mu
}

// Close opens the gate permanently: the client has disconnected and the pod continues.
func (s *Session) Close() {
	s.mu.Lock()
	first := !s.open
	s.open = true
	s.leave(opening)
	s.mu.Unlock()
	if first {
		s.gone()
	}
}

// Quit prevents all further actions. The caller deletes the pod and then calls Close; the deletion is not held.
func (s *Session) Quit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quit = true
	s.leave(quitting)
}

// Quitting reports whether the person has quit.
func (s *Session) Quitting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quit
}

// leave also applies to the action that is about to pause, by canceling its snapshot, and to one that is delayed.
// Called with mu.
func (s *Session) leave(a answer) {
	if s.look != nil {
		s.look()
	}
	s.say(a)
	select {
	case <-s.left:
	default:
		close(s.left)
	}
}
