package auth

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// Verdicts that let somebody in are kept apart from those that do not, so that what a caller makes up pushes out only its like.
	goodEntries = 4096
	badEntries  = 1024
	// refusedTTL is how long a token stays unknown.
	refusedTTL = 10 * time.Second

	reviewTimeout = 30 * time.Second
)

// verdicts keeps what was decided for a time, and has who asks the same at the same time wait for one answer.
type verdicts[V any] struct {
	good          func(V) bool
	kept, refused *cache.LRUExpireCache
	limit         *limit

	mu      sync.Mutex
	flights map[key]*flight[V]
}

// key is the sum of what is asked, of which nothing is kept.
type key = [sha256.Size]byte

// flight is a review under way. value and err are set when done is closed.
type flight[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// newVerdicts returns an empty cache. good says which verdicts let somebody in.
func newVerdicts[V any](limit *limit, good func(V) bool) *verdicts[V] {
	return &verdicts[V]{
		good: good, kept: cache.NewLRUExpireCache(goodEntries), refused: cache.NewLRUExpireCache(badEntries),
		limit: limit, flights: map[key]*flight[V]{},
	}
}

// get returns what is kept, or asks on behalf of source. Errors are not kept.
func (c *verdicts[V]) get(ctx context.Context, k key, source string, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	for _, list := range []*cache.LRUExpireCache{c.kept, c.refused} {
		if v, ok := list.Get(k); ok {
			return v.(V), nil //nolint:forcetypeassert // put takes nothing else
		}
	}
	var none V
	c.mu.Lock()
	f := c.flights[k]
	c.mu.Unlock()
	if f == nil {
		// Whoever goes away does not wait any more, so that no goroutine is left of it.
		give, err := c.limit.take(ctx, source)
		if err != nil {
			return none, err
		}
		f = c.start(ctx, k, give, ask)
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// start asks, unless somebody else has begun to meanwhile. Others may wait for the answer, so that it does not end with the one who
// asked first.
func (c *verdicts[V]) start(ctx context.Context, k key, give func(good bool), ask func(context.Context) (V, time.Duration, error)) *flight[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[k]; f != nil {
		give(true)
		return f
	}
	f := &flight[V]{done: make(chan struct{})}
	c.flights[k] = f
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		v, keep, err := ask(ctx)
		f.value, f.err = v, err
		good := err == nil && c.good(v)
		if err == nil && keep > 0 {
			c.put(k, v, keep, good)
		}
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		give(good)
		close(f.done)
	}()
	return f
}

func (c *verdicts[V]) put(k key, v V, keep time.Duration, good bool) {
	to, from := c.refused, c.kept
	if good {
		to, from = c.kept, c.refused
	}
	from.Remove(k)
	to.Add(k, v, keep)
}
