package usage

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// Idle is the interval of Run's samples.
	Idle = 10 * time.Second
	// Awake is this interval while pods start.
	Awake = time.Second
	// Linger is how long it publishes every second after the last nudge.
	Linger = 3 * time.Second
	// Longest is how long work that does not end, or a pod that does not become ready, keeps it publishing every second.
	Longest = 10 * time.Minute
	// late is how much later than due a sample is that says so.
	late = time.Second
	// fresh is an interval too short for meaningful figures: the kernel counts some in ticks of 10 ms.
	fresh = 100 * time.Millisecond
)

// Config is what a Sampler needs.
type Config struct {
	// Bus receives the events; nil drops them.
	Bus *trace.Bus
	// Publish receives the events instead of the bus, if it is set.
	Publish func(trace.Usage)
	// PID is the agent's process; 0 means this one.
	PID int
	// Root is the parent of proc; empty means "/".
	Root string
	// Starting reports whether a pod has been starting for less than a time: then it publishes every second. It is called
	// once per sample, and must not block; nil means no.
	Starting func(within time.Duration) bool
}

// Sampler publishes the agent's resource usage.
type Sampler struct {
	publish func(trace.Usage)
	read    func() counters
	pending func(time.Duration) bool // Config.Starting
	own     bool                     // it is this process that is measured
	born    time.Time
	due     time.Time     // of the next sample
	nudged  atomic.Int64  // when, as time since born, which setting a clock does not change; 0: never
	works   atomic.Int64  // starts that are worked on
	wake    chan struct{} // read while idle
	last    counters
}

// New returns a Sampler before its first reading.
func New(c Config) *Sampler {
	if c.Root == "" {
		c.Root = "/"
	}
	src := source{root: c.Root, self: "self", cpu: ownCPU, rss: ownRSS, goroutines: runtime.NumGoroutine}
	if c.PID != 0 {
		src = other(c.Root, c.PID)
	}
	if c.Publish == nil {
		c.Publish = func(u trace.Usage) { trace.Point(c.Bus, trace.Span{}, u) }
	}
	if c.Starting == nil {
		c.Starting = func(time.Duration) bool { return false }
	}
	return &Sampler{publish: c.Publish, pending: c.Starting, own: c.PID == 0, born: time.Now(), read: src.read, wake: make(chan struct{}, 1)}
}

// Nudge reports that a pod is starting. It never blocks. Safe for concurrent use, also before Run; a nil Sampler
// ignores it.
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

// Work reports that a pod's start is worked on, until done is called or for [Longest]: figures of ten seconds say little of what happens in
// them. Safe for concurrent use, also before Run; a nil Sampler ignores it.
func (s *Sampler) Work() (done func()) {
	if s == nil {
		return func() {}
	}
	end := sync.OnceFunc(func() {
		s.works.Add(-1)
	})
	s.works.Add(1)
	s.Nudge()
	limit := time.AfterFunc(Longest, end)
	return func() {
		if limit.Stop() { // what ended by itself keeps it awake no longer
			s.Nudge()
		}
		end()
	}
}

// Run samples until ctx is done.
func (s *Sampler) Run(ctx context.Context) error {
	begun, timer := time.Now(), time.NewTimer(Idle)
	defer timer.Stop()
	s.due = begun.Add(Idle)
	s.last = s.read()
	awake := false
	for {
		wake := s.wake
		if awake {
			wake = nil // one wake-up per second is enough, however many pods start
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			if !s.lately() {
				continue // a nudge from the time when it was awake
			}
		case <-timer.C:
		}
		s.sample()
		next := Awake
		if awake = s.lately(); !awake {
			// At the same times as the agent's other work every ten seconds, so that it wakes up once for all.
			next = Idle - time.Since(begun)%Idle
		}
		timer.Reset(next)
		s.due = time.Now().Add(next)
	}
}

// lately reports whether a start is worked on or pending, or a nudge was less than Linger ago.
func (s *Sampler) lately() bool {
	if s.works.Load() > 0 {
		return true
	}
	at := s.nudged.Load()
	return at != 0 && time.Since(s.born)-time.Duration(at) < Linger || s.pending(Longest)
}

// sample publishes the usage since the last time.
func (s *Sampler) sample() {
	if time.Since(s.last.at) < fresh {
		return
	}
	over := time.Since(s.due) // before it reads: what it reads may take long
	now := s.read()
	u := between(s.last, now)
	if s.own && over >= late {
		u.Late = min(over, u.Interval)
	}
	s.publish(u)
	s.last = now
}
