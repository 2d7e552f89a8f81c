package pleg

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// Cache has the newest state of each pod. Safe for concurrent use; the values that it returns are immutable.
type Cache struct {
	mu    sync.Mutex
	pods  map[types.UID]*podstate.Pod
	floor time.Time // when the last complete list was requested
}

func newCache() *Cache { return &Cache{pods: map[types.UID]*podstate.Pod{}} }

// Get returns the pod, or nil if the runtime has nothing of it.
func (c *Cache) Get(uid types.UID) *podstate.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[uid]
}

// All returns every pod that the runtime has something of.
func (c *Cache) All() map[types.UID]*podstate.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.pods)
}

// put stores next unless the cache has something newer. For a pod that the cache does not have, the last complete list
// counts as its observation. It returns the earlier observation and whether next was stored. A pod with neither
// sandboxes nor containers is removed.
func (c *Cache) put(next *podstate.Pod) (old *podstate.Pod, taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.pods[next.UID]
	known := c.floor
	if old != nil {
		known = old.At
	}
	// A time in the future is from before the clock was set back.
	if next.At.Before(known) && !known.After(time.Now()) {
		return old, false
	}
	if len(next.Sandboxes) == 0 && len(next.Containers) == 0 {
		delete(c.pods, next.UID)
	} else {
		c.pods[next.UID] = next
	}
	return old, true
}

// outline stores what the lists show of a pod without a status, unless the cache has a status.
func (c *Cache) outline(p *podstate.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.pods[p.UID]; (old == nil || old.Unseen) && !p.At.Before(c.floor) && len(p.Sandboxes)+len(p.Containers) > 0 {
		c.pods[p.UID] = p
	}
}

// complete stores that the cache has everything that the runtime had at that time.
func (c *Cache) complete(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor = at
}

// owner returns the pod that owns the sandbox or container.
func (c *Cache) owner(id string) *podstate.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		for i := range p.Sandboxes {
			if p.Sandboxes[i].ID == id {
				return p
			}
		}
		if p.Container(id) != nil {
			return p
		}
	}
	return nil
}
