package guestfile

import (
	"context"
	"sync"
	"time"
)

// The defaults of Config.
const (
	usualDeadline = 5 * time.Second
	usualHung     = 64
)

// Config limits the operations; 0 means the default.
type Config struct {
	// Deadline is the timeout of an operation: 5 s.
	Deadline time.Duration
	// MaxHung is how many operations may hang after their timeout before no other is tried: 64. Each holds a thread.
	MaxHung int
}

// Files does operations on files with a deadline. It is safe for concurrent use.
type Files struct {
	cfg Config

	mu    sync.Mutex
	tries map[string]*try
	hung  int
}

// try is a running operation. Each path has one at a time.
type try struct {
	ended   chan struct{}
	givenUp bool
}

// New returns a Files.
func New(cfg Config) *Files {
	if cfg.Deadline <= 0 {
		cfg.Deadline = usualDeadline
	}
	if cfg.MaxHung <= 0 {
		cfg.MaxHung = usualHung
	}
	return &Files{cfg: cfg, tries: map[string]*try{}}
}

// Hung returns the number of operations that timed out and still hang.
func (f *Files) Hung() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hung
}

// Do runs an operation on path, and returns at the deadline or when ctx ends. Operations on one path come one after the other. Op
// must share nothing with the caller but what it returns: it may continue after Do has returned. The error is a [*SlowError] if it
// timed out or was not tried, otherwise op's error.
func (f *Files) Do(ctx context.Context, path string, op func() error) error {
	_, err := do(ctx, f, path, func() (struct{}, error) { return struct{}{}, op() }, nil)
	return err
}

type outcome[T any] struct {
	value T
	err   error
}

// do is Do for an operation with a result, which drop releases if nobody waits for it any more.
func do[T any](ctx context.Context, f *Files, path string, op func() (T, error), drop func(T)) (T, error) {
	var none T
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Deadline)
	defer cancel()
	t, err := f.enter(ctx, path, began)
	if err != nil {
		return none, err
	}
	out := make(chan outcome[T], 1)
	go func() {
		v, err := op()
		if f.leave(path, t) && err == nil && drop != nil {
			drop(v)
			return
		}
		out <- outcome[T]{v, err}
	}()
	select {
	case o := <-out:
		return o.value, o.err
	case <-ctx.Done():
	}
	if hung, ok := f.giveUp(t); ok {
		return none, &SlowError{Path: path, After: time.Since(began), Hung: hung}
	}
	o := <-out // it ended just now
	return o.value, o.err
}

// enter returns when it is this operation's turn for the path.
func (f *Files) enter(ctx context.Context, path string, began time.Time) (*try, error) {
	for {
		f.mu.Lock()
		before, hung := f.tries[path], f.hung
		if before == nil && hung < f.cfg.MaxHung {
			t := &try{ended: make(chan struct{})}
			f.tries[path] = t
			f.mu.Unlock()
			return t, nil
		}
		refused := before == nil || before.givenUp
		f.mu.Unlock()
		if refused {
			return nil, &SlowError{Path: path, Hung: hung}
		}
		select {
		case <-before.ended:
		case <-ctx.Done():
			return nil, &SlowError{Path: path, After: time.Since(began), Hung: hung}
		}
	}
}

// leave ends an operation and reports whether it had timed out.
func (f *Files) leave(path string, t *try) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.givenUp {
		f.hung--
	}
	delete(f.tries, path)
	close(t.ended)
	return t.givenUp
}

// giveUp stops waiting for an operation, unless it has ended.
func (f *Files) giveUp(t *try) (hung int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-t.ended:
		return f.hung, false
	default:
	}
	t.givenUp = true
	f.hung++
	return f.hung, true
}
