package selfstats

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// Idle is how often Run samples.
	Idle = 10 * time.Second
	// Awake is how often it does while pods start.
	Awake = time.Second
	// Linger is how long it publishes each second after the last nudge.
	Linger = 3 * time.Second
	// fresh is an interval so short that its figures would say nothing: the kernel counts some in ticks of 10 ms.
	fresh = 100 * time.Millisecond
)

// Config is what a Sampler is built from.
type Config struct {
	// Bus is where events go; nil drops them.
	Bus *trace.Bus
	// Root is where proc is found; empty means "/".
	Root string
}

// Sampler publishes the agent's resource usage.
type Sampler struct {
	bus    *trace.Bus
	read   func() counters
	born   time.Time
	nudged atomic.Int64  // when, as time since born, which no clock that is set changes; 0: never
	wake   chan struct{} // read while idle
	last   counters
}

// New returns a Sampler that has read nothing yet.
func New(c Config) *Sampler {
	if c.Root == "" {
		c.Root = "/"
	}
	src := source{root: c.Root, cpu: ownCPU, rss: ownRSS}
	return &Sampler{bus: c.Bus, born: time.Now(), read: src.read, wake: make(chan struct{}, 1)}
}

// Nudge says that a pod is starting. It never blocks and may be called from anywhere, also before Run; a nil Sampler ignores it.
func (s *Sampler) Nudge() {
	if s == nil {
		return
	}
	s.nudged.Store(max(1, int64(time.Since(s.born))))
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run samples until ctx is done.
func (s *Sampler) Run(ctx context.Context) error {
	begun, timer := time.Now(), time.NewTimer(Idle)
	defer timer.Stop()
	s.last = s.read()
	awake := false
	for {
		wake := s.wake
		if awake {
			wake = nil // one wake-up a second is enough, however many pods start
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			if !s.lately() {
				continue // a nudge of the time awake, which is finished
			}
		case <-timer.C:
		}
		s.sample()
		if awake = s.lately(); awake {
			timer.Reset(Awake)
		} else {
			// In step with what else the agent does every ten seconds from its beginning on: it wakes up once for all.
			timer.Reset(Idle - time.Since(begun)%Idle)
		}
	}
}

// lately reports whether a nudge was less than Linger ago.
func (s *Sampler) lately() bool {
	at := s.nudged.Load()
	return at != 0 && time.Since(s.born)-time.Duration(at) < Linger
}

// sample publishes what has been taken since the last time.
func (s *Sampler) sample() {
	if time.Since(s.last.at) < fresh {
		return
	}
	now := s.read()
	trace.Point(s.bus, trace.Span{}, between(s.last, now))
	s.last = now
}
