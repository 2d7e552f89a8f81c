package stats

import (
	"context"
	"sync"
	"time"
)

// flight makes concurrent callers share one result.
type flight[T any] struct {
	limit time.Duration

	mu  sync.Mutex
	now *run[T]
}

// run is running work. value and err are set when done is closed.
type run[T any] struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	value   T
	err     error
}

// do joins the running work or begins it. The work ends when nobody waits for it any more, or after the limit.
func (f *flight[T]) do(ctx context.Context, work func(context.Context) (T, error)) (T, error) {
	f.mu.Lock()
	r := f.now
	if r == nil {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.limit)
		r = &run[T]{done: make(chan struct{}), cancel: cancel}
		f.now = r
		go func() {
			defer cancel()
			r.value, r.err = work(own)
			f.leave(r)
			close(r.done)
		}()
	}
	r.waiting++
	f.mu.Unlock()
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if f.now == r {
			f.now = nil
		}
	}
	var none T
	return none, ctx.Err()
}

func (f *flight[T]) leave(r *run[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == r {
		f.now = nil
	}
}
