package stats

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// patience is how long a caller waits for a file system that was just queried.
const patience = 250 * time.Millisecond

// probes queries file systems, which may hang, for example a network file system whose server is down. Each path has at
// most one goroutine, however often it is requested.
type probes[T any] struct {
	// patience is how long a caller waits instead of the constant patience, if it is not zero.
	patience time.Duration

	mu    sync.Mutex
	under map[string]*probe[T]
}

// probe is a running query. value is set when done is closed.
type probe[T any] struct {
	began time.Time
	done  chan struct{}
	value T
}

// ask returns f's result for the path. It returns false if there is none yet; callers do not wait for a query that
// hangs.
func (p *probes[T]) ask(path string, f func() T) (T, bool) {
	return p.askUntil(context.Background(), path, f)
}

// askUntil is ask. It waits at most until ctx ends.
func (p *probes[T]) askUntil(ctx context.Context, path string, f func() T) (none T, ok bool) {
	p.mu.Lock()
	one := p.under[path]
	if one == nil {
		one = &probe[T]{began: time.Now(), done: make(chan struct{})}
		if p.under == nil {
			p.under = map[string]*probe[T]{}
		}
		p.under[path] = one
		go func() {
			one.value = f()
			p.mu.Lock()
			delete(p.under, path)
			p.mu.Unlock()
			close(one.done)
		}()
	}
	p.mu.Unlock()
	wait := time.NewTimer(cmp.Or(p.patience, patience) - time.Since(one.began))
	defer wait.Stop()
	select {
	case <-one.done:
		return one.value, true
	case <-ctx.Done():
		return none, false
	case <-wait.C:
		return none, false
	}
}
