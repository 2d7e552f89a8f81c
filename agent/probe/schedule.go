package probe

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The delay between early attempts starts at these values and doubles. Commands cost the node more than connections.
const (
	lookSoon     = 25 * time.Millisecond
	lookSoonExec = 500 * time.Millisecond
)

// may reports whether the probe can run now.
func (t *target) may() bool {
	switch {
	case !t.running || t.held:
		return false
	case t.kind != Readiness && t.pod.ending:
		return false
	}
	return t.kind == Startup || t.up()
}

// first arms a probe of a container that was found, has just started, or has passed its startup probe. spread says that an earlier agent
// started it: there may be many such containers, and all of them are found at once, so their attempts are spread over the period.
//
// Upstream: pkg/kubelet/prober/worker.go, run and doProbe.
func (p *Prober) first(t *target, now time.Time, spread bool) {
	if !t.may() {
		return
	}
	due := t.began.Add(t.delay())
	t.counts = due
	switch {
	case t.kind == Readiness && t.value == Success:
		spread = true // an earlier agent found it ready
	case t.kind == Liveness && (t.delay() == 0 || t.probes[Startup] != nil) && !spread:
		due = later(due, now.Add(t.period())) // it has just started, so it is alive
	case t.kind != Liveness && t.delay() == 0 && (t.kind == Startup || t.probes[Startup] == nil) && now.Sub(t.began) < t.period():
		t.counts = t.began.Add(t.period())
	}
	if spread {
		due = later(due, now.Add(time.Duration(rand.Int64N(int64(t.period()))))) // spreads load, keeps no secret
	}
	p.arm(t, later(due, now), now)
}

// after arms the next attempt. began is the begin of the last one, which did not change the result.
func (p *Prober) after(t *target, began, now time.Time) {
	if !t.may() {
		return
	}
	due := began.Add(t.period())
	if began.Before(t.counts) && t.value != Success {
		step := lookSoon
		if t.probe.Exec != nil {
			step = lookSoonExec
		}
		look := now.Add(step << t.looks)
		t.looks++
		due = earlier(look, t.counts)
	}
	p.arm(t, later(due, now), now)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// arm sets the timer of the next attempt.
func (p *Prober) arm(t *target, due, now time.Time) {
	p.halt(t)
	t.next = due
	t.turn++
	turn := t.turn
	if delay := due.Sub(now); delay > 0 && t.value != Success {
		t.wait = trace.Wait{
			For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: t.kind.String(), Container: t.spec.Name}, Until: due.UnixNano(),
		}
		t.waiting = trace.Begin(p.cfg.Bus, t.pod.span(), t.wait)
	}
	t.timer = time.AfterFunc(due.Sub(now), func() { p.fire(t, turn) })
}

// halt stops the timer and cancels the running attempt.
func (p *Prober) halt(t *target) {
	t.turn++
	t.next = time.Time{}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if t.cancel != nil {
		t.cancel()
		t.cancel = nil
	}
	p.endWait(t)
}

func (p *Prober) endWait(t *target) {
	if t.wait.For != "" {
		trace.End(p.cfg.Bus, t.waiting, t.wait)
		t.wait = trace.Wait{}
	}
}

// fire makes the attempt that is due, if it is still wanted.
func (p *Prober) fire(t *target, turn uint64) {
	p.mu.Lock()
	if turn != t.turn || p.closed {
		p.mu.Unlock()
		return
	}
	p.endWait(t)
	t.timer, t.next = nil, time.Time{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.cancel = cancel
	a := &attempt{
		pod: t.pod.pod, container: t.spec, containerID: t.id, kind: t.kind, probe: t.probe,
		timeout: t.timeout(), early: time.Now().Before(t.counts),
	}
	span := t.pod.span()
	p.attempts.Add(1)
	p.mu.Unlock()
	defer p.attempts.Done()
	p.attempt(ctx, t, turn, span, a)
}
