package podruntime

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

// The crash-loop back-off's defaults, and how long after its last restart a container has none again, whether it has run or waited since.
// Upstream: pkg/kubelet/kubelet.go, initialCrashLoopBackOff, MaxCrashLoopBackOff and HasExpiredFunc; pkg/kubelet/kubelet_pods.go,
// HandlePodCleanups, which removes expired ones; KEP-4603.
const (
	crashBase  = 10 * time.Second
	crashMax   = 5 * time.Minute
	crashReset = 10 * time.Minute
)

// crashKey is the key of a back-off: a container with another image or name, or with other resources, starts without one.
type crashKey struct {
	uid  types.UID
	name string
	hash uint64 // of the image and the resources
}

// keyOf returns the key of a container with its allocated resources.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, GetBackoffKey.
func keyOf(pod *v1.Pod, c *v1.Container) crashKey {
	resources, _ := json.Marshal(c.Resources) // never an error: names and amounts
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%s", c.Image, resources) // a hash never returns an error
	return crashKey{uid: pod.UID, name: c.Name, hash: h.Sum64()}
}

type crash struct {
	delay time.Duration
	at    time.Time // when the last restart was decided
	since time.Time // when the container had ended for that restart, by our clock
	told  time.Time // when the container ended after that, as the runtime reported it
	ended time.Time // the same by our clock: setting the wall clock neither ends nor extends a back-off
}

// seen stores when the container ended: after its last restart, and not in the future.
func (c *crash) seen(finished, now time.Time) {
	if !c.told.Equal(finished) || c.ended.Before(c.at) {
		c.told, c.ended = finished, clock.Past(now, finished)
	}
	if c.ended.Before(c.at) {
		c.ended = c.at
	}
}

// CrashBackoff delays the restarts of containers that exit repeatedly: no delay before the first restart, then the first
// one, doubled up to the maximum, and reset 10 minutes after the last restart. Safe for concurrent use.
type CrashBackoff struct {
	first, maximum time.Duration

	mu sync.Mutex
	m  map[crashKey]crash
}

// NewCrashBackoff returns a back-off with that first delay and that maximum, which also bounds the first; zero means 10 s and 5
// minutes.
func NewCrashBackoff(first, maximum time.Duration) *CrashBackoff {
	if first <= 0 {
		first = crashBase
	}
	if maximum <= 0 {
		maximum = crashMax
	}
	return &CrashBackoff{first: min(first, maximum), maximum: maximum, m: map[crashKey]crash{}}
}

// until returns when a container that ended at finished may start again.
func (b *CrashBackoff) until(k crashKey, finished, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[k]
	if !ok {
		return time.Time{}
	}
	c.seen(finished, now)
	b.m[k] = c
	if c.ended.Sub(c.at) > crashReset {
		return time.Time{}
	}
	return earlier(c.ended.Add(c.delay), c.at.Add(crashReset))
}

// untilAgain returns when a container may start again that runs and is killed. Its back-off began with the exit before its last start, so one
// that has run for long enough since starts at once.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff: it knows no later exit when it kills a container and starts the next.
func (b *CrashBackoff) untilAgain(k crashKey) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[k]
	if !ok {
		return time.Time{}
	}
	return c.since.Add(c.delay)
}

// delay returns the delay of the container's next restart, from its exit or, if the last restart failed, from that.
func (b *CrashBackoff) delay(k crashKey) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.m[k].delay
}

// next stores a restart, decided now, of a container that ended at finished.
func (b *CrashBackoff) next(k crashKey, finished, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[k]
	c.seen(finished, now)
	if !ok || now.Sub(c.at) >= crashReset {
		c.delay = b.first
	} else {
		c.delay = min(2*c.delay, b.maximum)
	}
	c.at, c.since = now, c.ended
	b.m[k] = c
	// Forget earlier versions of the container whose restarts no longer matter: a pod may live for years and change
	// often.
	maps.DeleteFunc(b.m, func(o crashKey, c crash) bool {
		return o.uid == k.uid && o.name == k.name && o.hash != k.hash && now.Sub(c.at) > 2*crashReset
	})
}

// forget removes the back-offs of a pod.
func (b *CrashBackoff) forget(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.m {
		if k.uid == uid {
			delete(b.m, k)
		}
	}
}
