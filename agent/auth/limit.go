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
	// reviews are requested at once, reviewsEach of them by one source, which waits for reviewWait.
	reviews, reviewsEach = 8, 3
	reviewWait           = 5 * time.Second
	// sources are so many of which it is known how often they failed.
	sources = 1024
)

// failures are how many reviews that let nobody in are requested, a second and at first: of one source and of all. While
// there are more, no others are requested.
type failures struct {
	each, all           rate.Limit
	eachBurst, allBurst int
}

var (
	tokenFailures = failures{each: 5, eachBurst: 20, all: 20, allBurst: 60}
	// Of one user there are as many as there are verbs and subresources, twice. Users are known, so that all have more.
	accessFailures = failures{each: 5, eachBurst: 120, all: 50, allBurst: 600}
)

var errBusy = errors.New("not reviewed: too many earlier requests were not authorized")

// limit bounds reviews. Safe for concurrent use.
type limit struct {
	failures
	places *semaphore.Weighted
	failed *rate.Limiter
	// failedOf has a *rate.Limiter for each source.
	failedOf *cache.LRUExpireCache

	mu     sync.Mutex
	asking map[string]*asking
}

// asking is what a source has under way or waits for.
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

// take waits until the source may have one more review. give tells that it is finished, and whether it let somebody in.
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
