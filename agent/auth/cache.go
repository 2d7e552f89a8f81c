package auth

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// Positive and negative verdicts are kept separately, so that invented credentials evict only negative ones.
	goodEntries = 4096
	badEntries  = 1024
	// refusedTTL is how long a token counts as unknown.
	refusedTTL = 10 * time.Second

	reviewTimeout = 30 * time.Second
)

// verdicts caches verdicts, and makes concurrent requests for the same one share one review.
type verdicts[V any] struct {
	good          func(V) bool
	kept, refused *cache.LRUExpireCache
	limit         *limit
	counter       counter

	mu      sync.Mutex
	flights map[key]*flight[V]
}

// key is the hash of a request, which itself is not kept.
type key = [sha256.Size]byte

// flight is a running review. value and err are set when done is closed.
type flight[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// newVerdicts returns an empty cache. good reports whether a verdict is positive.
func newVerdicts[V any](limit *limit, good func(V) bool) *verdicts[V] {
	return &verdicts[V]{
		good: good, kept: cache.NewLRUExpireCache(goodEntries), refused: cache.NewLRUExpireCache(badEntries),
		limit: limit, flights: map[key]*flight[V]{},
	}
}

// get returns the cached verdict, or requests a review on behalf of source. Errors are not cached.
func (c *verdicts[V]) get(ctx context.Context, k key, source string, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	began := time.Now()
	if v, ok := c.known(k); ok {
		c.counter.hit(began)
		return v, nil
	}
	defer c.counter.miss(began)()
	var none V
	c.mu.Lock()
	f := c.flights[k]
	c.mu.Unlock()
	if f == nil {
		// A caller that disconnects stops waiting, so no goroutine remains.
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

// known returns the cached verdict.
func (c *verdicts[V]) known(k key) (v V, ok bool) {
	for _, list := range []*cache.LRUExpireCache{c.kept, c.refused} {
		if v, ok := list.Get(k); ok {
			return v.(V), true //nolint:forcetypeassert // put takes nothing else
		}
	}
	return v, false
}

// start begins a review, unless another caller has begun it meanwhile, or its verdict is known by now. Others may wait for the result, so it
// does not end with the first caller.
func (c *verdicts[V]) start(ctx context.Context, k key, give func(good bool), ask func(context.Context) (V, time.Duration, error)) *flight[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[k]; f != nil {
		give(true)
		return f
	}
	f := &flight[V]{done: make(chan struct{})}
	if v, ok := c.known(k); ok {
		give(true)
		f.value = v
		close(f.done)
		return f
	}
	c.flights[k] = f
	reviewed := c.counter.review()
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
		reviewed(err)
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
