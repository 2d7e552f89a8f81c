package volume

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/stack"
)

// stopGrace is how long Run waits for running operations when it stops. Operations can be interrupted: the next agent
// resumes them from the disk.
const stopGrace = 2 * time.Second

// Run reconciles until ctx ends. It returns nil then.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	again := m.running
	m.running = true
	m.mu.Unlock()
	if again {
		return errors.New("volume: Run was called twice")
	}
	var under sync.WaitGroup
	defer m.stop(&under)
	under.Go(func() { m.watchClaims(ctx) })
	for {
		timer := time.NewTimer(m.reconcile(ctx, &under))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-m.kicked:
		case <-m.cfg.Notices.wake:
			m.cfg.Notices.act(m)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// reconcile starts the planned operations and returns the time until the next pass.
func (m *Manager) reconcile(ctx context.Context, under *sync.WaitGroup) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	ops, next := plan(m.pods, m.states, m.left, m.confirmed(), now)
	for _, o := range ops {
		p := m.pods[o.key.uid]
		s := m.states[o.key]
		if s == nil {
			s = &state{}
			m.states[o.key] = s
		}
		s.busy, s.doing, s.quiet = true, o.verb, o.quiet
		j := job{op: o, span: p.span, order: p.order, want: p.wanted[o.key], again: s.err != nil, slow: s.slow}
		if j.want != nil {
			s.quit = make(chan struct{})
			j.quit = s.quit
			s.attach, s.from = j.want.attach, originOf(j.want.spec)
			m.begin(o.key, s, j.want)
			j.skip = o.quiet && !s.stale && (s.refreshAt.IsZero() || s.refreshAt.After(now))
			j.grow = j.want.size != "" && s.size.to != j.want.size
			s.stale = false
		}
		j.from = s.from
		under.Go(func() {
			stack.Grow()
			m.operate(ctx, j)
		})
	}
	if at := m.unstage(now, func(do func(ctx context.Context)) { under.Go(func() { do(ctx) }) }); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	if next.IsZero() {
		return m.cfg.Period
	}
	return min(m.cfg.Period, next.Sub(now))
}

func (m *Manager) stop(under *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		under.Wait()
		close(done)
	}()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
	close(m.stopped)
}
