package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Reviews go to the API server with the agent's own requests, of which there may be some dozens a second. Anybody can ask for
// one by a token that is made up.
const (
	// reviews are asked for at once, reviewsEach of them by one source, which waits for reviewWait.
	reviews, reviewsEach = 8, 3
	reviewWait           = 5 * time.Second
	// Reviews that let nobody in, a second: of one source and of all. While there are more, no others are asked for.
	failedEach, failedEachBurst = 5, 20
	failed, failedBurst         = 20, 60
	// sources are so many of which it is known how often they failed.
	sources = 1024
)

var errBusy = errors.New("not asked: too many reviews let nobody in")

// limit bounds reviews. Safe for concurrent use.
type limit struct {
	all    *semaphore.Weighted
	failed *rate.Limiter
	// failures has a *rate.Limiter for each source.
	failures *cache.LRUExpireCache

	mu   sync.Mutex
	each map[string]*asking
}

// asking is what a source has under way or waits for.
type asking struct {
	places *semaphore.Weighted
	n      int
}

func newLimit() *limit {
	return &limit{
		all: semaphore.NewWeighted(reviews), failed: rate.NewLimiter(failed, failedBurst),
		failures: cache.NewLRUExpireCache(sources), each: map[string]*asking{},
	}
}

// take waits until the source may have one more review. give tells that it is over, and whether it let somebody in.
func (l *limit) take(ctx context.Context, source string) (give func(good bool), err error) {
	failures := l.failuresOf(source)
	if failures.Tokens() < 1 || l.failed.Tokens() < 1 {
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	a := l.enter(source)
	if err := a.places.Acquire(ctx, 1); err != nil {
		l.leave(source, a)
		return nil, fmt.Errorf("waiting for other reviews: %w", err)
	}
	if err := l.all.Acquire(ctx, 1); err != nil {
		a.places.Release(1)
		l.leave(source, a)
		return nil, fmt.Errorf("waiting for other reviews: %w", err)
	}
	return func(good bool) {
		if !good {
			failures.Allow()
			l.failed.Allow()
		}
		l.all.Release(1)
		a.places.Release(1)
		l.leave(source, a)
	}, nil
}

func (l *limit) failuresOf(source string) *rate.Limiter {
	if v, ok := l.failures.Get(source); ok {
		return v.(*rate.Limiter) //nolint:forcetypeassert // nothing else is added
	}
	r := rate.NewLimiter(failedEach, failedEachBurst)
	l.failures.Add(source, r, time.Minute)
	return r
}

func (l *limit) enter(source string) *asking {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.each[source]
	if a == nil {
		a = &asking{places: semaphore.NewWeighted(reviewsEach)}
		l.each[source] = a
	}
	a.n++
	return a
}

func (l *limit) leave(source string, a *asking) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.n--; a.n == 0 {
		delete(l.each, source)
	}
}
