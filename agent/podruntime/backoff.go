package podruntime

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

// The crash-loop back-off's constants.
// Upstream: pkg/kubelet/kubelet.go, initialBackOff..., KEP-4603.
const (
	crashBase = 10 * time.Second
	crashMax  = 5 * time.Minute
)

// crashKey names what backs off: a new image or name is a new start.
type crashKey struct {
	uid  types.UID
	name string
	hash uint64
}

type crash struct {
	delay time.Duration
	at    time.Time // when the last restart was decided
	told  time.Time // when the runtime says that the container ended since
	ended time.Time // the same on our clock: a wall clock that is set neither ends nor stretches a back-off
}

// seen notes when the container ended, which was after its last restart and is not in the future.
func (c *crash) seen(finished, now time.Time) {
	if !c.told.Equal(finished) || c.ended.Before(c.at) {
		c.told, c.ended = finished, clock.Past(now, finished)
	}
	if c.ended.Before(c.at) {
		c.ended = c.at
	}
}

// CrashBackoff delays the restarts of containers that keep ending: none before
// the first restart, then 10 s, doubling to the maximum, forgotten when a container has run
// for twice the maximum. Safe for concurrent use.
type CrashBackoff struct {
	maximum time.Duration

	mu sync.Mutex
	m  map[crashKey]crash
}

// NewCrashBackoff returns a back-off with that maximum; zero means 5 minutes.
func NewCrashBackoff(maximum time.Duration) *CrashBackoff {
	if maximum <= 0 {
		maximum = crashMax
	}
	return &CrashBackoff{maximum: maximum, m: map[crashKey]crash{}}
}

// until says when a container that ended at finished may start again.
func (b *CrashBackoff) until(k crashKey, finished, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[k]
	if !ok {
		return time.Time{}
	}
	c.seen(finished, now)
	b.m[k] = c
	if c.ended.Sub(c.at) > 2*b.maximum {
		return time.Time{}
	}
	return c.ended.Add(c.delay)
}

// next notes a restart, decided now, of a container that ended at finished.
func (b *CrashBackoff) next(k crashKey, finished, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[k]
	c.seen(finished, now)
	if !ok || c.ended.Sub(c.at) > 2*b.maximum {
		c.delay = min(crashBase, b.maximum)
	} else {
		c.delay = min(2*c.delay, b.maximum)
	}
	c.at = now
	b.m[k] = c
	// Earlier versions of the container whose restarts count no more: a pod may live for years and be changed again and again.
	maps.DeleteFunc(b.m, func(o crashKey, c crash) bool {
		return o.uid == k.uid && o.name == k.name && o.hash != k.hash && now.Sub(c.at) > 4*b.maximum
	})
}

// forget drops a pod.
func (b *CrashBackoff) forget(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.m {
		if k.uid == uid {
			delete(b.m, k)
		}
	}
}
