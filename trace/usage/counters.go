package usage

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// counters are figures that only grow, and current ones.
type counters struct {
	at  time.Time
	cpu time.Duration
	// delay is the run delay of each thread, by its ID: threads come and go.
	delay      map[string]time.Duration
	rss        int64
	goroutines int
	cpus       int
	busy       time.Duration
	stalls     map[trace.Resource]stall // by resource
	memory     *trace.Memory            // Reclaims are those since the machine booted
}

// stall is how long tasks have waited for a resource since the machine booted.
type stall struct{ some, full time.Duration }

// between returns the usage between two readings.
func between(a, b counters) trace.Usage {
	u := trace.Usage{
		Interval: b.at.Sub(a.at), CPU: grown(a.cpu, b.cpu), RSS: b.rss, Goroutines: b.goroutines, CPUs: b.cpus, Busy: grown(a.busy, b.busy),
	}
	for id, now := range b.delay {
		u.RunDelay += grown(a.delay[id], now) // a new thread began at 0; the figures of one that ended are lost
	}
	for _, resource := range resources() {
		was, before := a.stalls[resource]
		now, after := b.stalls[resource]
		if before && after {
			u.Stalls = append(u.Stalls, trace.Stall{Resource: resource, Some: grown(was.some, now.some), Full: grown(was.full, now.full)})
		}
	}
	if a.memory != nil && b.memory != nil {
		now := *b.memory
		now.Reclaims = max(0, now.Reclaims-a.memory.Reclaims)
		u.Memory = &now
	}
	return u
}

// grown returns how much a counter grew; 0 if it went back, for example because a thread ID was reused.
func grown(a, b time.Duration) time.Duration { return max(0, b-a) }

func resources() []trace.Resource {
	return []trace.Resource{trace.ResourceCPU, trace.ResourceMemory, trace.ResourceIO}
}
