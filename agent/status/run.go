package status

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/stack"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The back-off doubles from the first to the last value: for all pods while the API server does not respond, for one
// pod while its writes are refused.
const (
	firstRetry  = 200 * time.Millisecond
	lastRetry   = 10 * time.Second
	lastRefused = time.Minute
)

// writePatience is how long a write counts toward the concurrent writes. One that takes longer (because a webhook
// behind the API server hangs) continues, and another pod's write may begin; kubeclient cancels it after a minute.
const writePatience = 5 * time.Second

// yieldLook is how often it is checked whether others still need the runtime.
const yieldLook = 50 * time.Millisecond

func retryDelay(tries int, last time.Duration) time.Duration {
	return backoff.After(backoff.Spread(firstRetry, last), tries)
}

// Run writes until ctx ends, and returns nil then.
func (m *Manager) Run(ctx context.Context) error {
	if m.cfg.Client == nil {
		<-ctx.Done()
		return nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		start, due := m.pick(time.Now())
		for _, e := range start {
			wg.Go(func() {
				stack.Grow()
				m.work(ctx, e)
			})
		}
		timer.Stop()
		if !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		case <-timer.C:
		}
	}
}

// Wake retries failed writes now: the API server responds again.
func (m *Manager) Wake() {
	m.mu.Lock()
	m.resume = time.Time{}
	for _, e := range m.queue {
		e.next = time.Time{}
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// note adds a pod to the queue.
func (m *Manager) note(ctx context.Context, e *entry) {
	if m.cfg.Client == nil || e.deleted {
		return
	}
	if e.since.IsZero() {
		e.since = time.Now()
	}
	e.span = trace.ForPod(trace.FromContext(ctx), podspec.Ref(e.pod))
	switch {
	case e.busy:
		e.again = true
		return
	case e.queued:
		m.poke() // it may be more urgent now
		return
	case e.api == nil:
		return
	}
	m.enqueue(e)
}

func (m *Manager) enqueue(e *entry) {
	e.queued = true
	m.queue = append(m.queue, e)
	m.poke()
}

func (m *Manager) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// hold begins the pod's wait; ready ends it.
func (m *Manager) hold(e *entry, w trace.Wait) {
	if e.wait.For == "" {
		e.wait, e.waits = w, trace.Begin(m.cfg.Bus, e.span, w)
	}
}

func (m *Manager) ready(e *entry) {
	if e.wait.For != "" {
		trace.End(m.cfg.Bus, e.waits, e.wait)
		e.wait = trace.Wait{}
	}
}

// pick takes the pods from the queue that can be written now, and returns when to call it again; zero if only a change
// requires it. It begins the waits of the others.
func (m *Manager) pick(now time.Time) (start []*entry, due time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	writers := m.cfg.Writers
	if m.fails > 0 {
		writers = 1 // one write at a time checks whether the API server is back
	}
	later := func(t time.Time) {
		if due.IsZero() || t.Before(due) {
			due = t
		}
	}
	busy, free := m.counted(now)
	m.queue = slices.DeleteFunc(m.queue, func(e *entry) bool {
		if e.asks && !e.settle.After(now) {
			if e.asks = false; m.busyNode() {
				e.settle = e.since.Add(firstLimit)
			}
		}
		switch {
		case e.deleted:
			return true
		case m.fails > 0 && m.resume.After(now):
			later(m.resume)
			m.hold(e, trace.Wait{
				For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatuses}, Tries: m.fails, Until: m.resume.UnixNano(),
			})
			return false
		case e.next.After(now):
			later(e.next)
			m.hold(e, trace.Wait{
				For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatus}, Tries: e.tries, Until: e.next.UnixNano(),
			})
			return false
		case e.settle.After(now):
			later(e.settle)
			return false
		case e.yields && now.Sub(e.since) < m.yieldLimit():
			later(now.Add(yieldLook))
			return false
		case busy >= writers:
			later(free)
			m.hold(e, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetStatuses}, Size: writers})
			return false
		}
		m.ready(e)
		e.queued, e.busy, e.began = false, true, now
		m.busy[e] = true
		busy++
		start = append(start, e)
		return true
	})
	return start, due
}

// counted returns how many writes count as concurrent, and when the next one stops counting.
func (m *Manager) counted(now time.Time) (n int, next time.Time) {
	next = now.Add(writePatience)
	for e := range m.busy {
		if end := e.began.Add(writePatience); end.After(now) {
			n++
			if end.Before(next) {
				next = end
			}
		}
	}
	return n, next
}

// done ends the work on a pod and handles its result.
func (m *Manager) done(e *entry, r result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, e)
	e.busy = false
	now := time.Now()
	again := e.again
	e.again = false
	switch r {
	case written:
		m.answered()
		e.tries, e.next = 0, time.Time{}
		if e.version == e.sent {
			e.since = time.Time{}
		} else {
			again = true
		}
	case refused:
		m.answered()
		e.next = now.Add(retryDelay(e.tries, lastRefused))
		e.tries++
		again = true
	case unreachable:
		m.resume = now.Add(retryDelay(m.fails, lastRetry))
		m.fails++
		e.next = now.Add(retryDelay(e.tries, lastRetry))
		e.tries++
		again = true
	case over:
		m.answered()
	}
	if again && !e.deleted && e.api != nil {
		m.enqueue(e)
		return
	}
	m.poke()
}

// answered records that the API server responds. After an outage no pod needs to wait any more; a single failure may be
// one pod's own.
func (m *Manager) answered() {
	if m.fails > 3 {
		for _, e := range m.queue {
			e.next, e.tries = time.Time{}, 0
		}
	}
	m.fails = 0
}
