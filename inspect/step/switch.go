package step

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// Switch is the gate of every agent: it holds the pods of its sessions, and none while there is no session. Safe for
// concurrent use.
type Switch struct {
	defaults Config
	attached atomic.Int32 // checked first by Holds: nearly always 0

	mu       sync.Mutex
	sessions map[string]*Session // by namespace/name
}

// NewSwitch returns a switch without sessions. Snapshot and Bus of defaults are for sessions without their own.
func NewSwitch(defaults Config) *Switch {
	return &Switch{defaults: defaults, sessions: map[string]*Session{}}
}

// Attach begins a session, which lasts until it is closed. The pod need not exist yet. A pod can have only one session.
func (w *Switch) Attach(cfg Config) (*Session, error) {
	cfg.Bus = cmp.Or(cfg.Bus, w.defaults.Bus)
	if cfg.Snapshot == nil {
		cfg.Snapshot = w.defaults.Snapshot
	}
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	key := nameOf(cfg.Pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions[key] != nil {
		return nil, fmt.Errorf("step: %s is being stepped by another session; it must end first", key)
	}
	cur := cfg.Bus.Subscribe(trace.FromNow)
	s.gone = func() {
		cur.Close()
		w.detach(key)
	}
	w.sessions[key] = s
	w.attached.Add(1)
	if cfg.Attached {
		s.mu.Lock()
		s.news(cfg.Pod, "")
		s.mu.Unlock()
	}
	if cfg.Bus != nil {
		go s.read(cur)
	}
	return s, nil
}

func (w *Switch) detach(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, key)
	w.attached.Add(-1)
}

func (w *Switch) of(pod trace.Pod) *Session {
	if w.attached.Load() == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[nameOf(pod)]
}

// Holds implements the runner's gate.
func (w *Switch) Holds(pod trace.Pod) bool {
	s := w.of(pod)
	return s != nil && s.Holds(pod)
}

// Ask implements the runner's gate.
func (w *Switch) Ask(ctx context.Context, q *gate.Question) (gate.Answer, error) {
	if s := w.of(q.Pod); s != nil {
		return s.Ask(ctx, q)
	}
	return gate.Answer{}, nil
}

func nameOf(pod trace.Pod) string { return pod.Namespace + "/" + pod.Name }
