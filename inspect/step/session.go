package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ErrQuit is what a runner gets when the person quits: no further action of the
// plan may be done.
var ErrQuit = errors.New("stepping was quit")

// lookFor is how long a snapshot may take: a person waits for the stop.
const lookFor = 5 * time.Second

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
	turn  chan struct{} // filled while an action is at the gate

	mu      sync.Mutex
	open    bool // for good
	quit    bool
	running bool // continue until a breakpoint
	breaks  []string
	waiting chan answer // takes one, which lets the waiting action go
	stop    Stop
	look    context.CancelFunc // ends the snapshot being taken
	last    []string           // the last snapshot
	plan    []string           // the ids of the plan that is gone through
	begun   map[string]time.Time
	ended   map[string]Action // of that plan
}

// answer is what the person says to an action that waits: a verdict of trace.Gate.
type answer struct {
	verdict string
	err     error
}

// New returns a session that stops before the first action.
func New(cfg Config) (*Session, error) {
	if cfg.Pod.Namespace == "" || cfg.Pod.Name == "" {
		return nil, errors.New("step: no pod named to step through")
	}
	return &Session{
		cfg: cfg, stops: make(chan Stop, 1), turn: make(chan struct{}, 1),
		begun: map[string]time.Time{}, ended: map[string]Action{},
	}, nil
}

// Stops is where the session says that an action waits. It holds the newest stop only,
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

// Before implements the runner's gate: it returns when the person lets the action
// go, ErrQuit when they quit, ctx's error when the action is no longer wanted.
func (s *Session) Before(ctx context.Context, pod trace.Pod, plan trace.Plan, id, title string, request json.Marshaler) error {
	if !s.matches(pod) {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	look, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	stop, held, err := s.arrive(pod, plan, id, title, cancel)
	if !held {
		return err
	}
	stop.Request = pretty(request)
	stop.Changed = s.changes(look, pod)
	cancel()
	return s.await(ctx, stop)
}

// arrive notes that an action has come to the gate, and says whether it is held there.
func (s *Session) arrive(pod trace.Pod, plan trace.Plan, id, title string, look context.CancelFunc) (stop Stop, held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(plan, id)
	stop = s.describe(pod, plan, id, title)
	switch {
	case s.quit:
		return stop, false, ErrQuit
	case s.open, s.running && !s.breaksAt(stop):
		s.begun[id] = time.Now()
		return stop, false, nil
	}
	s.running, s.look = false, look
	return stop, true, nil
}

// await tells the person of the stop and waits for what they say.
func (s *Session) await(ctx context.Context, stop Stop) error {
	waiting := make(chan answer, 1)
	s.mu.Lock()
	s.look = nil
	switch { // while the snapshot was taken
	case s.quit:
		waiting <- quitting
	case s.open:
		waiting <- opening
	case ctx.Err() != nil: // nobody is asked
	default:
		s.waiting, s.stop = waiting, stop
		s.offer(stop)
	}
	s.mu.Unlock()

	var a answer
	select {
	case a = <-waiting:
	case <-ctx.Done():
		a.err = ctx.Err() // nobody said anything: there is no verdict
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	if a.err == nil {
		s.begun[stop.Next] = time.Now()
	}
	if a.verdict != "" {
		trace.Point(s.cfg.Bus, trace.ForPod(trace.FromContext(ctx), stop.Pod), trace.Gate{Action: stop.Next, Verdict: a.verdict})
	}
	return a.err
}

// offer hands a stop to the client, in place of one that nobody took: only the
// newest is true. Called with mu.
func (s *Session) offer(stop Stop) {
	select {
	case <-s.stops:
	default:
	}
	s.stops <- stop // has room: only this sends, with mu
}

// After implements the runner's gate.
func (s *Session) After(pod trace.Pod, id string, err error) {
	if !s.matches(pod) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Action{State: Done}
	if begun, ok := s.begun[id]; ok {
		a.Dur = time.Since(begun)
		delete(s.begun, id)
	}
	if err != nil {
		a.State, a.Err = Failed, err.Error()
	}
	s.ended[id] = a
}

// follow forgets how the actions of an earlier plan went once a new one is gone
// through: the same again, or another. Called with mu.
func (s *Session) follow(plan trace.Plan, id string) {
	ids := make([]string, 0, len(plan.Steps))
	for _, st := range plan.Steps {
		ids = append(ids, st.ID)
	}
	if _, again := s.ended[id]; again || !slices.Equal(ids, s.plan) {
		s.plan = ids
		clear(s.ended)
	}
}

// describe makes the stop, less what takes time. Called with mu.
func (s *Session) describe(pod trace.Pod, plan trace.Plan, id, title string) Stop {
	stop := Stop{Pod: pod, Next: id, RequestTitle: title, Total: len(plan.Steps)}
	for i, st := range plan.Steps {
		a := Action{State: Todo}
		if ended, ok := s.ended[st.ID]; ok {
			a = ended
		}
		if st.ID == id {
			a = Action{State: Next}
			stop.Index = i + 1
		}
		a.ID, a.Verb = st.ID, st.Verb
		stop.Actions = append(stop.Actions, a)
	}
	return stop
}

// changes says what changed on the node since the last stop, and makes now the new
// last, unless ctx ended while looking: half a look would tell of things that went.
func (s *Session) changes(ctx context.Context, pod trace.Pod) []string {
	if s.cfg.Snapshot == nil {
		return nil
	}
	now := s.cfg.Snapshot.Snapshot(ctx, pod)
	if ctx.Err() != nil {
		return []string{fmt.Sprintf("not known: the node could not be looked at within %s", lookFor)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	s.last = now
	return Diff(last, now)
}

// What Quit and Close say to an action that waits.
var (
	quitting = answer{"skip-rest", ErrQuit}
	opening  = answer{"open", nil}
)

// say answers the waiting action, if there is one. Called with mu.
func (s *Session) say(a answer) bool {
	if s.waiting == nil {
		return false
	}
	s.waiting <- a
	s.waiting = nil
	return true
}

// leave says it also to the action that is about to wait, by ending its snapshot.
// Called with mu.
func (s *Session) leave(a answer) {
	if s.look != nil {
		s.look()
	}
	s.say(a)
}

// Close opens the gate for good: the client is gone and the pod goes on.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	s.leave(opening)
}

// Quit lets no further action be done. The caller deletes the pod and then calls
// Close; what deletes the pod is not held.
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
