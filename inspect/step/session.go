package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ErrQuit is what a runner gets when the person quits: no further action of the
// plan may be done.
var ErrQuit = errors.New("stepping was quit")

// Snapshotter says what there is of a pod on the node, one line each.
type Snapshotter interface {
	Snapshot(ctx context.Context, pod trace.Pod) []string
}

// Config says what is stepped.
type Config struct {
	// Pod is held; UID may be empty: then namespace and name decide.
	Pod trace.Pod
	// Snapshot may be nil: then nothing is said of changes.
	Snapshot Snapshotter
	Bus      *trace.Bus
}

// Session steps one pod. Safe for concurrent use.
type Session struct {
	cfg   Config
	stops chan Stop

	mu      sync.Mutex
	open    bool // for good
	quit    bool
	running bool // continue until a breakpoint
	breaks  []string
	waiting chan error // answered to let the waiting action go
	stop    Stop
	last    []string // the last snapshot
	count   int
	started map[string]time.Time
	durs    map[string]time.Duration
	states  map[string]State
	errs    map[string]error
}

// New returns a session that stops before the first action.
func New(cfg Config) (*Session, error) {
	if cfg.Pod.Namespace == "" || cfg.Pod.Name == "" {
		return nil, errors.New("step: no pod named to step through")
	}
	return &Session{
		cfg: cfg, stops: make(chan Stop, 64), started: map[string]time.Time{},
		durs: map[string]time.Duration{}, states: map[string]State{}, errs: map[string]error{},
	}, nil
}

// Stops is where the session says that an action waits. It is never closed.
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

// Before implements the runner's gate: it returns when the person lets the action
// go, ErrQuit when they quit, ctx's error when the action is no longer wanted.
func (s *Session) Before(ctx context.Context, pod trace.Pod, plan trace.Plan, id, title string, request json.Marshaler) error {
	s.mu.Lock()
	stop := s.describe(pod, plan, id, title)
	switch {
	case s.quit:
		s.mu.Unlock()
		return ErrQuit
	case s.open, s.running && !s.breaksAt(stop):
		s.begin(id)
		s.mu.Unlock()
		return nil
	}
	s.running = false
	s.mu.Unlock()

	stop.Request = pretty(request)
	stop.Changed = s.changes(ctx, pod)
	s.mu.Lock()
	if s.quit || s.open { // while the snapshot was taken
		s.mu.Unlock()
		return s.Before(ctx, pod, plan, id, title, request)
	}
	answer := make(chan error, 1)
	s.waiting, s.stop = answer, stop
	s.count++
	s.stop.Index = s.count
	s.offer(s.stop)
	s.mu.Unlock()

	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	verdict := trace.Gate{Action: id, Verdict: "go"}
	if err != nil {
		verdict.Verdict = "stop: " + err.Error()
	} else {
		s.begin(id)
	}
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), verdict)
	return err
}

// offer hands a stop to the client, dropping the oldest that nobody took: only
// the newest is true. Called with mu.
func (s *Session) offer(stop Stop) {
	for {
		select {
		case s.stops <- stop:
			return
		default:
		}
		select {
		case <-s.stops:
		default:
		}
	}
}

func (s *Session) begin(id string) { s.started[id] = time.Now() }

// After implements the runner's gate.
func (s *Session) After(_ trace.Pod, id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun, ok := s.started[id]; ok {
		s.durs[id] = time.Since(begun)
		delete(s.started, id)
	}
	s.states[id] = Done
	if err != nil {
		s.states[id], s.errs[id] = Failed, err
	}
}

// describe makes the stop, less what takes time. Called with mu.
func (s *Session) describe(pod trace.Pod, plan trace.Plan, id, title string) Stop {
	stop := Stop{Pod: pod, Next: id, RequestTitle: title, Total: len(plan.Steps)}
	for _, st := range plan.Steps {
		a := Action{ID: st.ID, Verb: st.Verb, State: Todo}
		if got, ok := s.states[st.ID]; ok {
			a.State, a.Dur = got, s.durs[st.ID]
		}
		if err := s.errs[st.ID]; err != nil {
			a.Err = err.Error()
		}
		if st.ID == id {
			a.State, a.Dur = Next, 0
		}
		stop.Actions = append(stop.Actions, a)
	}
	return stop
}

// changes says what changed on the node since the last stop, and makes now the new last.
func (s *Session) changes(ctx context.Context, pod trace.Pod) []string {
	if s.cfg.Snapshot == nil {
		return nil
	}
	now := s.cfg.Snapshot.Snapshot(ctx, pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	s.last = now
	return Diff(last, now)
}

// Close opens the gate for good: the client is gone and the pod goes on.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return
	}
	s.open = true
	if s.waiting != nil {
		s.waiting <- nil
		s.waiting = nil
		trace.Point(s.cfg.Bus, trace.ForPod(trace.Span{}, s.cfg.Pod), trace.Gate{Action: s.stop.Next, Verdict: "open"})
	}
}

// Quit lets no further action be done. The caller deletes the pod and then calls
// Close, so that its deletion is not held.
func (s *Session) Quit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quit = true
	if s.waiting != nil {
		s.waiting <- ErrQuit
		s.waiting = nil
	}
}

// Quitting reports whether the person has quit.
func (s *Session) Quitting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quit
}

func pretty(m json.Marshaler) string {
	if m == nil {
		return ""
	}
	p, err := m.MarshalJSON()
	if err != nil {
		return "cannot be shown: " + err.Error()
	}
	var out bytes.Buffer
	if err := json.Indent(&out, p, "", "  "); err != nil {
		return string(p)
	}
	return out.String()
}
