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

// Reviews share the agent's own rate limit at the API server, some dozens per second. Everyone can cause one with an
// invented token.
const (
	// reviews is the maximum number of concurrent reviews, reviewsEach that of one source, which waits for reviewWait.
	reviews, reviewsEach = 8, 3
	reviewWait           = 5 * time.Second
	// sources is the number of sources whose failures are counted.
	sources = 1024
)

// failures limits the negative reviews, as a rate and a burst: for one source and for all. When a limit is reached, no
// more reviews are requested.
type failures struct {
	each, all           rate.Limit
	eachBurst, allBurst int
}

var (
	tokenFailures = failures{each: 5, eachBurst: 20, all: 20, allBurst: 60}
	// For one user there are as many requests as verbs and subresources, twice. Users are known, so the total limit is
	// higher.
	accessFailures = failures{each: 5, eachBurst: 120, all: 50, allBurst: 600}
)

var errBusy = errors.New("not reviewed: too many earlier requests were not authorized")

// limit limits reviews. Safe for concurrent use.
type limit struct {
	failures
	places *semaphore.Weighted
	failed *rate.Limiter
	// failedOf has a *rate.Limiter for each source.
	failedOf *cache.LRUExpireCache

	mu     sync.Mutex
	asking map[string]*asking
}

// asking has a source's running and waiting reviews.
type asking struct {
	places *semaphore.Weighted
	n      int
}

func newLimit(f failures) *limit {
	return &limit{
		failures: f, places: semaphore.NewWeighted(reviews), failed: rate.NewLimiter(f.all, f.allBurst),
		failedOf: cache.NewLRUExpireCache(sources), asking: map[string]*asking{},
	}
}

// take waits until the source may request another review. give reports its end, and whether its verdict was positive.
func (l *limit) take(ctx context.Context, source string) (give func(good bool), err error) {
	failed := l.failedBy(source)
	if failed.Tokens() < 1 || l.failed.Tokens() < 1 {
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	a := l.enter(source)
	if err := a.places.Acquire(ctx, 1); err != nil {
		l.leave(source, a)
		return nil, fmt.Errorf("waiting for other reviews: %w", err)
	}
	if err := l.places.Acquire(ctx, 1); err != nil {
		a.places.Release(1)
		l.leave(source, a)
		return nil, fmt.Errorf("waiting for other reviews: %w", err)
	}
	return func(good bool) {
		if !good {
			failed.Allow()
			l.failed.Allow()
		}
		l.places.Release(1)
		a.places.Release(1)
		l.leave(source, a)
	}, nil
}

func (l *limit) failedBy(source string) *rate.Limiter {
	if v, ok := l.failedOf.Get(source); ok {
		return v.(*rate.Limiter) //nolint:forcetypeassert // nothing else is added
	}
	r := rate.NewLimiter(l.each, l.eachBurst)
	l.failedOf.Add(source, r, time.Minute)
	return r
}

func (l *limit) enter(source string) *asking {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.asking[source]
	if a == nil {
		a = &asking{places: semaphore.NewWeighted(reviewsEach)}
		l.asking[source] = a
	}
	a.n++
	return a
}

func (l *limit) leave(source string, a *asking) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.n--; a.n == 0 {
		delete(l.asking, source)
	}
}
