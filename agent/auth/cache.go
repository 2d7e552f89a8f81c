package auth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	cacheEntries  = 1024
	reviewTimeout = 30 * time.Second
)

// cache keeps verdicts for a time, and has who asks the same at the same time wait for one answer.
type cache[V any] struct {
	mu      sync.Mutex
	entries map[string]entry[V]
	flight  singleflight.Group
}

type entry[V any] struct {
	value V
	until time.Time
}

func newCache[V any]() *cache[V] { return &cache[V]{entries: map[string]entry[V]{}} }

// get returns what is kept, or asks. Errors are not kept.
func (c *cache[V]) get(ctx context.Context, key string, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	c.mu.Lock()
	e, ok := c.entries[key]
	c.mu.Unlock()
	if ok && time.Now().Before(e.until) {
		return e.value, nil
	}
	done := c.flight.DoChan(key, func() (any, error) {
		// Others may wait for it, so that it does not end with the one who asked first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		v, keep, err := ask(ctx)
		if err == nil && keep > 0 {
			c.put(key, entry[V]{v, time.Now().Add(keep)})
		}
		return v, err
	})
	select {
	case r := <-done:
		v, _ := r.Val.(V)
		return v, r.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (c *cache[V]) put(key string, e entry[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheEntries {
		now := time.Now()
		for k, old := range c.entries {
			if now.After(old.until) {
				delete(c.entries, k)
			}
		}
		if len(c.entries) >= cacheEntries {
			clear(c.entries)
		}
	}
	c.entries[key] = e
}
