package stats

import (
	"sync"
	"time"
)

// leastSpan is the minimum interval for a rate.
const leastSpan = time.Second

// forgetAfter is how long a counter is kept that is no longer read.
const forgetAfter = 10 * time.Minute

// rates computes from CPU time how many cores were used since the last reading.
type rates struct {
	mu   sync.Mutex
	last map[string]reading
}

type reading struct {
	at    time.Time
	total uint64
	rate  *uint64
}

func newRates() *rates { return &rates{last: map[string]reading{}} }

// nanoCores returns how much of a core, in billionths, key used since its last reading; nil the first time.
func (r *rates) nanoCores(key string, at time.Time, total uint64) *uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.last[key]
	switch span := at.Sub(before.at); {
	case !ok || total < before.total:
		before.rate = nil
	case span < leastSpan:
		return before.rate
	default:
		before.rate = new(uint64(float64(total-before.total) / span.Seconds()))
	}
	r.last[key] = reading{at, total, before.rate}
	return before.rate
}

// forget removes counters that were not read for a long time.
func (r *rates) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.last {
		if k != nodeKey && k != selfKey && now.Sub(v.at) > forgetAfter {
			delete(r.last, k)
		}
	}
}
