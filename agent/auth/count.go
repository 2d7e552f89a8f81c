package auth

import (
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// Counts are what a cache of verdicts has done since the start.
//
// Upstream: apiserver/pkg/authentication/token/cache/stats.go.
type Counts struct {
	// Hits are how long requests took whose verdict was known, Misses those that needed a review, also if it failed or was refused.
	Hits, Misses exposition.Durations
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
	c.count(func(n *Counts) { n.Hits.Add(time.Since(began)) })
}

// miss counts a request that began then, from now until the returned function is called.
func (c *counter) miss(began time.Time) (end func()) {
	c.count(func(n *Counts) { n.Waiting++ })
	return func() {
		c.count(func(n *Counts) {
			n.Waiting--
			n.Misses.Add(time.Since(began))
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
