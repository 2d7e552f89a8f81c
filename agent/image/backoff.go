package image

import (
	"sync"
	"time"

	pauses "github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Upstream: pkg/kubelet/kubelet.go, imageBackOffPeriod and MaxImageBackOff.
const (
	backoffFirst = 10 * time.Second
	backoffMax   = 5 * time.Minute
	// maxError is how much is kept of what a registry said, in bytes.
	maxError = 4 << 10
)

// target is what a back-off is kept for.
type target struct{ podUID, image string }

// attempt is what is remembered of failed pulls.
type attempt struct {
	failures int
	delay    time.Duration
	at       time.Time
	err      string
}

func (a attempt) until() time.Time { return a.at.Add(a.delay) }

// expired says that the last failure is so long ago that it counts no more.
func (a attempt) expired(now time.Time) bool { return now.Sub(a.at) > 2*backoffMax }

// backoff remembers failed pulls. A success does not clear it, age does: an image that
// fails again soon after is not given a fresh start.
//
// Upstream: client-go/util/flowcontrol/backoff.go, Backoff.
type backoff struct {
	mu  sync.Mutex
	all map[target]attempt
}

// check returns the attempt that t still has to wait out, false if it may pull.
func (b *backoff) check(t target, now time.Time) (attempt, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.all[t]
	return a, ok && now.Before(a.until())
}

// fail notes a pull that began and now failed, and returns how long to wait. Containers
// of one pod that shared it count once.
func (b *backoff) fail(t target, began, now time.Time, err string) attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = make(map[target]attempt)
	}
	a, ok := b.all[t]
	if ok && !a.at.Before(began) {
		return a
	}
	b.drop(now)
	if !ok || a.expired(now) {
		a = attempt{}
	}
	a.delay = pauses.After(pauses.Doubling(backoffFirst, backoffMax), a.failures)
	a.failures++
	a.at, a.err = now, trace.Clip(err, maxError)
	b.all[t] = a
	return a
}

// sweep forgets what counts no more.
func (b *backoff) sweep(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(now)
}

// drop is sweep. Called with mu.
func (b *backoff) drop(now time.Time) {
	for t, a := range b.all {
		if a.expired(now) {
			delete(b.all, t)
		}
	}
}

// forget drops what is remembered of a pod.
func (b *backoff) forget(podUID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.all {
		if t.podUID == podUID {
			delete(b.all, t)
		}
	}
}
