// Package loop is the syncLoop: one select over everything that can happen to
// the node's pods, one dispatch table, no policy.
//
// It owns the order in which events are handled. It never changes a pod: a [Handler] does. It does not poll: other parts send ticks
// when something is due, and housekeeping has a long period as a safety net.
//
// It runs no goroutine besides Run's. It publishes Loop begin/end for each iteration and a runtime wait while it must not run.
//
// Upstream: pkg/kubelet/kubelet.go, syncLoop, syncLoopIteration.
package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Handler handles the event of an iteration. The contexts carry the iteration's span. Calls are serial and should return
// immediately; pod workers do the work.
type Handler interface {
	// Config handles a change of a source.
	Config(ctx context.Context, u podsource.Update)
	// Lifecycle handles a change in the runtime.
	Lifecycle(ctx context.Context, e pleg.Event)
	// Sync handles a pod whose sync is due.
	Sync(ctx context.Context, uid types.UID)
	// Probed handles a changed probe result.
	Probed(ctx context.Context, u probe.Update)
	// Freed handles resizes that may be possible now, and why: a pod has terminated, or the node has changed.
	Freed(ctx context.Context, why trace.ResizeTrigger)
	// Housekeep looks for the remains of unknown pods. It returns what it found, for people.
	Housekeep(ctx context.Context) string
}

// Ready reports whether the runtime is ready.
type Ready interface {
	// Ready returns whether it is ready, and if not, the reason.
	Ready() (ok bool, why string)
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Config is what a Loop needs.
type Config struct {
	Handler   Handler
	Ready     Ready
	Updates   <-chan podsource.Update
	Lifecycle <-chan pleg.Event
	// Probes delivers changed probe results; may be nil.
	Probes <-chan probe.Update
	// Requests are for syncs, resizes and housekeeping; may be nil.
	Requests *Requests
	// Period is the longest time between two rounds of housekeeping; zero means 1 minute.
	Period time.Duration
	Bus    *trace.Bus
}

// Loop is the syncLoop.
type Loop struct {
	cfg  Config
	n    uint64
	born time.Time
	last atomic.Int64 // when the current iteration began, as time since born; 0 if none runs. Not the wall clock, which may be set
}

// New returns a loop that has not run.
func New(cfg Config) (*Loop, error) {
	if cfg.Handler == nil || cfg.Ready == nil || cfg.Updates == nil || cfg.Lifecycle == nil {
		return nil, errors.New("loop: Config needs Handler, Ready, Updates and Lifecycle")
	}
	if cfg.Requests == nil {
		cfg.Requests = NewRequests()
	}
	if cfg.Period == 0 {
		cfg.Period = time.Minute
	}
	return &Loop{cfg: cfg, born: time.Now()}, nil
}

// Alive returns when the loop last showed that it is not stuck; for an idle loop, the current time.
func (l *Loop) Alive() time.Time {
	if since := l.last.Load(); since != 0 {
		return l.born.Add(time.Duration(since))
	}
	return time.Now()
}

// Run iterates until ctx ends.
func (l *Loop) Run(ctx context.Context) error {
	tick := time.NewTicker(l.cfg.Period)
	defer tick.Stop()
	for {
		if !l.awaitRuntime(ctx) {
			return nil
		}
		idle := time.Now()
		select {
		case <-ctx.Done():
			return nil
		case u := <-l.cfg.Updates:
			l.iterate(ctx, u.Span, trace.Loop{Case: trace.LoopConfig, Op: trace.LoopOp(u.Op), Pods: len(u.Pods), Detail: u.Source}, idle,
				func(ctx context.Context, _ *trace.Loop) { l.cfg.Handler.Config(ctx, u) })
		case e := <-l.cfg.Lifecycle:
			l.iterate(ctx, e.Span, trace.Loop{Case: trace.LoopPLEG, Op: trace.LoopOp(e.Type), Pods: 1, Detail: e.Span.Pod.String()}, idle,
				func(ctx context.Context, _ *trace.Loop) { l.cfg.Handler.Lifecycle(ctx, e) })
		case uid := <-l.cfg.Requests.due:
			l.iterate(ctx, trace.Span{}, trace.Loop{Case: trace.LoopSync, Pods: 1}, idle,
				func(ctx context.Context, _ *trace.Loop) { l.cfg.Handler.Sync(ctx, uid) })
		case u := <-l.cfg.Probes:
			l.iterate(ctx, trace.Span{}, trace.Loop{Case: trace.LoopProbe, Op: trace.LoopOp(u.Probe.Trace()), Pods: 1, Detail: u.Container + " " + u.Result.String()}, idle,
				func(ctx context.Context, _ *trace.Loop) { l.cfg.Handler.Probed(ctx, u) })
		case why := <-l.cfg.Requests.freed:
			l.iterate(ctx, trace.Span{}, trace.Loop{Case: trace.LoopResize}, idle, func(ctx context.Context, _ *trace.Loop) { l.cfg.Handler.Freed(ctx, why) })
		case <-l.cfg.Requests.tidy:
			l.housekeep(ctx, trace.LoopAsked, idle)
		case <-tick.C:
			l.housekeep(ctx, trace.LoopPeriod, idle)
		}
	}
}

func (l *Loop) housekeep(ctx context.Context, op trace.LoopOp, idle time.Time) {
	l.iterate(ctx, trace.Span{}, trace.Loop{Case: trace.LoopHousekeeping, Op: op}, idle, func(ctx context.Context, ev *trace.Loop) {
		ev.Detail = l.cfg.Handler.Housekeep(ctx)
	})
}

// iterate runs one iteration: publish, handle, publish.
func (l *Loop) iterate(ctx context.Context, cause trace.Span, ev trace.Loop, idle time.Time, handle func(context.Context, *trace.Loop)) {
	l.n++
	ev.N, ev.Idle = l.n, time.Since(idle)
	cause.Pod = trace.Pod{} // an iteration is the node's, whatever pod it handles
	l.last.Store(max(1, int64(time.Since(l.born))))
	span := trace.Begin(l.cfg.Bus, cause, ev)
	handle(trace.ContextWith(ctx, span), &ev)
	trace.End(l.cfg.Bus, span, ev)
	l.last.Store(0)
}

// awaitRuntime returns when the runtime is ready; false if ctx ended.
func (l *Loop) awaitRuntime(ctx context.Context) bool {
	changed := l.cfg.Ready.Changed()
	ok, why := l.cfg.Ready.Ready()
	if ok {
		return ctx.Err() == nil
	}
	wait := trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}}.WithCause(why)
	span := trace.Begin(l.cfg.Bus, trace.Span{}, wait)
	defer func() { trace.End(l.cfg.Bus, span, wait) }()
	for !ok {
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
		changed = l.cfg.Ready.Changed()
		ok, why = l.cfg.Ready.Ready()
		if !ok {
			wait.Cause = why // the wait ends with the last reason
		}
	}
	return true
}

// Healthy is the check behind /healthz/syncloop: an iteration that takes longer than limit is stuck.
func (l *Loop) Healthy(limit time.Duration) error {
	if time.Since(l.Alive()) > limit {
		return errors.New("sync Loop took longer than expected") // upstream's text
	}
	return nil
}
