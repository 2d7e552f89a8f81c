package image

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// The answers to a question about an image.
const (
	yes     = "true"
	no      = "false"
	unknown = "unknown"
)

func known(is bool) string {
	if is {
		return yes
	}
	return no
}

// Ensured is what a call of Ensure found: the pull policy, whether the image was on the node, and whether it had to be pulled. These are true,
// false, or unknown, for example because the call failed before.
//
// Upstream: pkg/kubelet/images/metrics.go.
type Ensured struct {
	Policy        v1.PullPolicy
	Present, Pull string
}

// ensured counts calls of Ensure. It is safe for concurrent use.
type ensured struct {
	mu    sync.Mutex
	calls map[Ensured]uint64
}

func (c *ensured) add(how Ensured) {
	switch how.Policy {
	case v1.PullAlways, v1.PullIfNotPresent, v1.PullNever:
	default:
		how.Policy = "" // a wrong one
	}
	for _, answer := range []*string{&how.Present, &how.Pull} {
		if *answer == "" {
			*answer = unknown
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[Ensured]uint64{}
	}
	c.calls[how]++
}

// Ensured returns the number of calls of Ensure so far, by what they found.
func (p *Puller) Ensured() map[Ensured]uint64 {
	p.ensured.mu.Lock()
	defer p.ensured.mu.Unlock()
	return maps.Clone(p.ensured.calls)
}
