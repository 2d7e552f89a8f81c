package stats

import (
	"sync"
	"time"
)

// patience is how long somebody who asks waits for a file system that was just asked.
const patience = 250 * time.Millisecond

// probes asks file systems, which may hang, as one over the network does when its server is away. Each path has one goroutine at most,
// however often it is requested.
type probes[T any] struct {
	mu    sync.Mutex
	under map[string]*probe[T]
}

// probe is a question under way. value is set when done is closed.
type probe[T any] struct {
	began time.Time
	done  chan struct{}
	value T
}

// ask returns what f says of the path. false is that it has not answered: who asks while it hangs does not wait.
func (p *probes[T]) ask(path string, f func() T) (T, bool) {
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
	wait := time.NewTimer(patience - time.Since(one.began))
	defer wait.Stop()
	select {
	case <-one.done:
		return one.value, true
	case <-wait.C:
		var none T
		return none, false
	}
}
