package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/stack"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Cause is the cause of a request for work.
type Cause struct {
	// Text is for people, for example ADD, ContainerDied web, retry.
	Text string
	// Span is the record that caused it.
	Span trace.Span
	// Retry says that the request is a retry after a failure.
	Retry bool
}

// Result is the result of a Sync, in addition to its error.
type Result struct {
	// Over says that the pod has finished.
	Over bool
	// RetryAt requests another Sync at this time; zero for none.
	RetryAt time.Time
	// Wait names what RetryAt waits for.
	Wait trace.Wait
	// Soon says that RetryAt is not the time for all that failed: the retry waits for it at most as long as for the back-off of errors.
	Soon bool
	// CheckAt requests another Sync at this time at the latest, also after an error; zero for none. It is only a check: the pod does not wait for it.
	CheckAt time.Time
}

// Syncer does a worker's work. Calls for one pod are serial. Their contexts carry the span to publish under, and end
// when the work should stop.
type Syncer interface {
	// Sync syncs the pod with its spec. order is its position in the queue for runtime work.
	Sync(ctx context.Context, pod *v1.Pod, order uint64) (Result, error)
	// Terminate returns when nothing of the pod runs.
	Terminate(ctx context.Context, pod *v1.Pod, grace *int64, reason string, order uint64) error
	// Clean releases the resources of a pod that has terminated; remove says that the pod is deleted.
	Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error
}

// Delays of retries after errors; the delay grows with each failure.
const (
	retryFirst = time.Second
	retryMax   = 10 * time.Second
)

// worker drives one machine. It has a goroutine only while there is work.
type worker struct {
	m     *Manager
	uid   types.UID
	name  string // the full name of a static pod
	order uint64
	span  trace.Span

	mu     sync.Mutex
	mach   machine
	busy   bool
	cancel context.CancelFunc
	syncs  int
	fails  int
	quiet  time.Time // after an error: until then, events do not start work
	timer  *time.Timer
	at     time.Time // when the timer fires
	retry  openWait  // open while the timer runs
	held   bool      // a static pod that waits for its predecessor
	hold   openWait  // open while held
}

// openWait is a wait that has begun.
type openWait struct {
	span trace.Span
	wait trace.Wait
}

// ask merges a request and makes sure that it is handled.
func (w *worker) ask(a Ask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.mach.state
	interrupt := w.mach.ask(a)
	w.moved(from, a.Cause.Span)
	if interrupt && w.cancel != nil {
		w.cancel()
	}
	w.kick()
}

// wake requests another look at the pod.
func (w *worker) wake(c Cause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mach.wake(c) {
		return
	}
	if !w.busy && !c.Retry && time.Now().Before(w.quiet) {
		if w.quiet.Before(w.at) {
			w.arm(w.quiet, w.retry.wait)
		}
		return
	}
	w.kick()
}

// release lets a pod start that waited for its predecessor.
func (w *worker) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unhold()
	w.kick()
}

// unhold ends the wait for the predecessor. Called with mu.
func (w *worker) unhold() {
	if w.held {
		w.held = false
		trace.End(w.m.cfg.Bus, w.hold.span, w.hold.wait)
	}
}

// settle ends all waits permanently. Called when no work runs any more.
func (w *worker) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unhold()
	w.stopTimer()
}

// kick starts the goroutine if there is work and none runs. Called with mu.
func (w *worker) kick() {
	if w.busy || w.m.closed() {
		return
	}
	if w.held {
		if w.mach.state == Syncing {
			return
		}
		w.unhold() // a pod that terminates does not wait for its turn
	}
	work, ok := w.mach.next()
	if !ok {
		return
	}
	w.stopTimer()
	w.busy = w.m.spawn(func() { w.run(work) })
}

// run works until there is nothing left to do.
func (w *worker) run(work Work) {
	stack.Grow()
	for more := true; more; {
		work, more = w.one(work)
	}
	if work.State == Gone {
		w.m.forget(w)
	}
}

// one does one piece of work and returns the next, if there is any. When the pod is gone, it returns work of state
// Gone, and the worker stays busy permanently.
func (w *worker) one(work Work) (Work, bool) {
	ctx, cancel := context.WithCancel(w.m.ctx)
	w.mu.Lock()
	w.cancel = cancel
	w.syncs++
	span, ev := w.begin(work)
	w.mu.Unlock()

	res, err := w.do(trace.ContextWith(ctx, span), work)
	cancel()
	if err != nil {
		ev.Err = err.Error()
	}
	trace.End(w.m.cfg.Bus, span, ev)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = nil
	from := w.mach.state
	w.mach.finish(work, res.Over, err != nil)
	w.moved(from, span)
	if w.mach.state == Gone {
		return Work{State: Gone}, false
	}
	if (err == nil || w.mach.pressing()) && !w.m.closed() {
		if next, ok := w.mach.next(); ok {
			return next, true
		}
	}
	w.busy = false
	w.schedule(res, err)
	return Work{}, false
}

func (w *worker) do(ctx context.Context, work Work) (Result, error) {
	switch work.State {
	case Syncing:
		return w.m.cfg.Syncer.Sync(ctx, work.Pod, w.order)
	case Terminating:
		return Result{}, w.m.cfg.Syncer.Terminate(ctx, work.Pod, work.Grace, work.Reason, w.order)
	case Terminated:
		return Result{}, w.m.cfg.Syncer.Clean(ctx, work.Pod, work.Remove, w.order)
	case None, Gone:
	}
	return Result{}, errors.New("worker: no work in state " + string(work.State))
}

// begin publishes the begin of a sync. Called with mu.
func (w *worker) begin(work Work) (trace.Span, trace.Sync) {
	ev := trace.Sync{Why: trace.SyncAgain, N: w.syncs}
	switch {
	case work.State == Terminating:
		ev.Why = trace.SyncKill
	case work.State == Terminated:
		ev.Why = trace.SyncFinish
	case w.syncs == 1:
		ev.Why = trace.SyncCreate
	}
	parent := w.span
	if n := len(work.Causes); n > 0 {
		ev.Cause, ev.Merged = work.Causes[0].Text, n-1
		// The trace is the pod's; the cause may be in another trace.
		if s := work.Causes[0].Span; !s.Trace.IsZero() {
			parent = trace.Linked(w.span.Trace, s.ID, w.span.Pod)
		}
		if work.Causes[0].Retry && ev.Why == trace.SyncAgain {
			ev.Why = trace.SyncRetry
		}
	}
	return trace.Begin(w.m.cfg.Bus, parent, ev), ev
}

// moved publishes a change of state. Called with mu.
func (w *worker) moved(from State, cause trace.Span) {
	if to := w.mach.state; to != from {
		ev := trace.Worker{From: from, To: to, Reason: w.mach.reason}
		if w.mach.grace != nil {
			ev.Grace = *w.mach.grace
		}
		parent := w.span
		if cause.ID != 0 {
			parent = trace.Linked(w.span.Trace, cause.ID, w.span.Pod)
		}
		trace.Point(w.m.cfg.Bus, parent, ev)
	}
}

// waiter is an error that says what the pod waits for because of it.
type waiter interface {
	error
	Wait() trace.Wait
}

// schedule sets the timer for the next attempt and names the wait. Called with mu.
func (w *worker) schedule(res Result, err error) {
	at, wait := res.RetryAt, res.Wait
	if wait.For == "" {
		wait = trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}}
	}
	if err == nil {
		w.fails, w.quiet = 0, time.Time{}
	} else {
		w.quiet = time.Now().Add(backoff.After(backoff.Doubling(retryFirst, retryMax), w.fails))
		w.fails++
		if soon := res.Soon || w.mach.due == woken; at.IsZero() || soon && w.quiet.Before(at) {
			at = w.quiet
			wait = trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}}.WithCause(err.Error())
		}
		if e, ok := errors.AsType[waiter](err); ok {
			wait = e.Wait()
		}
	}
	if check := res.CheckAt; !check.IsZero() && (at.IsZero() || check.Before(at)) {
		at, wait = check, trace.Wait{}
	}
	if !at.IsZero() {
		w.arm(at, wait)
	}
}

// arm sets the timer. Called with mu.
func (w *worker) arm(at time.Time, wait trace.Wait) {
	if w.m.closed() {
		return
	}
	w.stopTimer()
	w.at, w.retry = at, openWait{}
	if wait.For != "" {
		wait.Until = at.UnixNano()
		w.retry = openWait{wait: wait, span: trace.Begin(w.m.cfg.Bus, w.span, wait)}
	}
	w.timer = time.AfterFunc(max(0, time.Until(at)), func() { w.m.due(w) })
}

// stopTimer ends the wait for a retry. Called with mu.
func (w *worker) stopTimer() {
	if w.timer == nil {
		return
	}
	w.timer.Stop()
	w.timer, w.at = nil, time.Time{}
	if w.retry.wait.For != "" {
		trace.End(w.m.cfg.Bus, w.retry.span, w.retry.wait)
	}
}

func (w *worker) pod() *v1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mach.pod
}
