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
	// maxError limits how much of a registry's error is kept, in bytes.
	maxError = 4 << 10
)

// target is the key of a back-off.
type target struct{ podUID, image string }

// attempt has the failed pulls of a target.
type attempt struct {
	failures int
	delay    time.Duration
	at       time.Time
	err      string
}

func (a attempt) until() time.Time { return a.at.Add(a.delay) }

// expired reports whether the last failure is too old to count.
func (a attempt) expired(now time.Time) bool { return now.Sub(a.at) > 2*backoffMax }

// backoff has the failed pulls. A success does not clear it, only age: an image that fails again soon continues its
// back-off.
//
// Upstream: client-go/util/flowcontrol/backoff.go, Backoff.
type backoff struct {
	mu  sync.Mutex
	all map[target]attempt
}

// check returns the attempt whose back-off t must wait for, false if it may pull.
func (b *backoff) check(t target, now time.Time) (attempt, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.all[t]
	return a, ok && now.Before(a.until())
}

// fail records a failed pull that began at that time, and returns its back-off. Containers of one pod that shared a
// pull count once.
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

// sweep removes expired attempts.
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

// forget removes the attempts of a pod.
func (b *backoff) forget(podUID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.all {
		if t.podUID == podUID {
			delete(b.all, t)
		}
	}
}
