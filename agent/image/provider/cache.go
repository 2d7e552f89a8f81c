package provider

import (
	"strings"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/image"
)

// everywhere is the scope of responses that are for all images. No image has that name.
const everywhere = "<global>"

// maxCached limits how many responses of a provider are kept, and maxCachedBytes their approximate size. Some providers
// respond separately for each image, and a response may have a megabyte.
const (
	maxCached      = 256
	maxCachedBytes = 8 << 20
)

// cache has a provider's valid responses.
type cache struct {
	mu  sync.Mutex
	all map[cacheKey]cached
}

type cacheKey struct{ scope, account string }

type cached struct {
	entries map[string]image.Login
	until   time.Time
}

// get returns the logins for a repository: from a response for the repository, for its registry, or for all images.
func (c *cache) get(repository, account string) (map[string]image.Login, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, scope := range []string{repository, registry(repository), everywhere} {
		if e, ok := c.all[cacheKey{scope, account}]; ok && !now.After(e.until) {
			return e.entries, true
		}
	}
	return nil, false
}

// put stores a response for a time, and removes expired ones.
func (c *cache) put(scope, account string, entries map[string]image.Login, hold time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for k, e := range c.all {
		if now.After(e.until) {
			delete(c.all, k)
		}
	}
	if c.all == nil {
		c.all = map[cacheKey]cached{}
	}
	size := sizeOf(entries)
	for _, e := range c.all {
		size += sizeOf(e.entries)
	}
	for len(c.all) > 0 && (len(c.all) >= maxCached || size > maxCachedBytes) {
		first := c.first()
		size -= sizeOf(c.all[first].entries)
		delete(c.all, first)
	}
	// By the wall clock: a login also expires while the machine is suspended.
	c.all[cacheKey{scope, account}] = cached{entries: entries, until: now.Add(hold).Round(0)}
}

// first returns the response that expires first.
func (c *cache) first() (key cacheKey) {
	var until time.Time
	for k, e := range c.all {
		if until.IsZero() || e.until.Before(until) {
			key, until = k, e.until
		}
	}
	return key
}

// sizeOf returns the approximate size of a response in bytes.
func sizeOf(entries map[string]image.Login) (n int) {
	for name, l := range entries {
		n += 64 + len(name) + len(l.Username) + len(l.Password)
	}
	return n
}

// registry returns the host of a repository, with its port.
func registry(repository string) string {
	host, _, _ := strings.Cut(repository, "/")
	return host
}
