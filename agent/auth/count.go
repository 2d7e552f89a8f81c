package auth

import (
	"sync"
	"time"
)

// LookupBounds are the limits of [Lookups.Within], in seconds. Upstream has Prometheus' default buckets.
var LookupBounds = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Lookups are requests for a verdict that ended.
type Lookups struct {
	N       uint64
	Seconds float64 // how long they took together
	// Within has for each bound how many took at most as long.
	Within [len(LookupBounds)]uint64
}

func (l *Lookups) add(took time.Duration) {
	sec := took.Seconds()
	l.N++
	l.Seconds += sec
	for i, bound := range LookupBounds {
		if sec <= bound {
			l.Within[i]++
		}
	}
}

// Counts are what a cache of verdicts has done since the start.
//
// Upstream: apiserver/pkg/authentication/token/cache/stats.go.
type Counts struct {
	// Hits are requests whose verdict was known, Misses those that needed a review, also if it failed or was refused.
	Hits, Misses Lookups
	// Reviewed and Failed are the reviews that ended with a verdict, and with an error.
	Reviewed, Failed uint64
	// Reviewing are the reviews in progress, Waiting the requests that wait for one.
	Reviewing, Waiting int
}

// counter counts. Safe for concurrent use.
type counter struct {
	mu sync.Mutex
	n  Counts
}

func (c *counter) count(what func(n *Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what(&c.n)
}

func (c *counter) counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// hit counts a request that began then.
func (c *counter) hit(began time.Time) {
	c.count(func(n *Counts) { n.Hits.add(time.Since(began)) })
}

// miss counts a request that began then, from now until the returned function is called.
func (c *counter) miss(began time.Time) (end func()) {
	c.count(func(n *Counts) { n.Waiting++ })
	return func() {
		c.count(func(n *Counts) {
			n.Waiting--
			n.Misses.add(time.Since(began))
		})
	}
}

// review counts a review, from now until the returned function is called.
func (c *counter) review() (end func(error)) {
	c.count(func(n *Counts) { n.Reviewing++ })
	return func(err error) {
		c.count(func(n *Counts) {
			n.Reviewing--
			if err != nil {
				n.Failed++
			} else {
				n.Reviewed++
			}
		})
	}
}

// TokenCounts returns what the cache of verdicts on tokens has done. It is empty if tokens are not reviewed.
func (a *Auth) TokenCounts() Counts { return a.tokens.counter.counts() }
