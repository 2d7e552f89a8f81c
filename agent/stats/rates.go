package stats

import (
	"sync"
	"time"
)

// leastSpan is over which time a rate is taken at least.
const leastSpan = time.Second

// forgetAfter is how long a counter that is not read any more is remembered.
const forgetAfter = 10 * time.Minute

// rates makes of CPU time how many cores are used, since the last time it was asked.
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

// nanoCores returns how much of a core, in billionths, key used since its last reading. It is nil the first time.
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

// forget drops what nobody asked for lately.
func (r *rates) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, v := range r.last {
		if k != nodeKey && k != selfKey && now.Sub(v.at) > forgetAfter {
			delete(r.last, k)
		}
	}
}
