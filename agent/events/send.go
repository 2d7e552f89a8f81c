package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record/util"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/stack"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxTries limits how often an event is sent. Upstream: client-go tools/record, maxTriesPerEvent.
	maxTries = 12
	// The back-off doubles from the first to the last value.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// A write that takes longer than writePatience does not delay the next events: it continues in the background; at most
// maxHung do. A write without a response within writeLimit is retried, and finally dropped.
const (
	writePatience = 3 * time.Second
	writeLimit    = 30 * time.Second
	maxHung       = 8
	maxUnanswered = 2
)

// Run sends the recorded events, one after the other, until ctx ends, and then returns nil.
func (r *Recorder) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	hung := make(chan struct{}, maxHung) // those that continue in the background
	deliver := func(e *v1.Event) {
		s := &sending{slow: make(chan struct{})}
		done := make(chan struct{})
		all.Go(func() {
			stack.Grow()
			r.send(ctx, e, s)
			close(done)
		})
		select {
		case <-done:
			return
		case <-s.slow:
		}
		select {
		case <-done:
		case hung <- struct{}{}:
			all.Go(func() {
				<-done
				<-hung
			})
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-r.warnings:
			deliver(e)
		case e := <-r.queue:
			r.hold(ctx, e, deliver)
			deliver(e)
		}
		if n := r.dropped.Swap(0); n > 0 {
			r.log(trace.LevelWarn, fmt.Sprintf("%d events were not sent to the API server: more than %d were waiting", n, queueLength))
		}
	}
}

// A normal event waits for a busy node up to holdLimit, for one that works up to workLimit, counted from when the node was busy; holdLook is how
// often it checks, and how long it waits at least: the pod's next call of the runtime begins just after the event of the last one.
const (
	holdLimit = 10 * time.Second
	workLimit = time.Second
	holdLook  = 50 * time.Millisecond
)

// hold lets pods start first: an event costs CPU time here and in the API server, which may be on the same small
// machine. Warnings are delivered meanwhile.
func (r *Recorder) hold(ctx context.Context, e *v1.Event, deliver func(*v1.Event)) {
	for r.holds(e.LastTimestamp.Time, time.Now()) {
		select {
		case <-ctx.Done():
			return
		case w := <-r.warnings:
			deliver(w)
		case <-time.After(holdLook):
		}
	}
}

// holds reports whether a normal event of that time still waits. Once pods no longer queue, it waits for the work on the last of them, too.
func (r *Recorder) holds(since, now time.Time) bool {
	if r.cfg.Busy != nil && r.cfg.Busy() {
		r.busyAt = now
		return now.Sub(since) < holdLimit
	}
	if r.cfg.Working == nil {
		return false
	}
	if !r.cfg.Working() {
		return now.Sub(since) < holdLook
	}
	return now.Sub(since) < workLimit || now.Sub(since) < holdLimit && now.Sub(r.busyAt) < workLimit
}

// sending is an event that is being sent.
type sending struct {
	slow chan struct{} // closed when a write takes too long
	once sync.Once
}

// within runs a write, and closes slow if it takes too long.
func (s *sending) within(ctx context.Context, write func(context.Context) error) error {
	timer := time.AfterFunc(writePatience, func() { s.once.Do(func() { close(s.slow) }) })
	defer timer.Stop()
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return write(ctx)
}

// send writes one event, as a new object or as another occurrence of an earlier one. Upstream: client-go
// tools/record/event.go, recordToSink.
func (r *Recorder) send(ctx context.Context, e *v1.Event, s *sending) {
	result, err := r.correlate.EventCorrelate(e)
	if err != nil {
		r.log(trace.LevelWarn, fmt.Sprintf("event %s of %s: %v", e.Reason, e.InvolvedObject.Name, err))
	}
	if result == nil || result.Skip {
		return
	}
	e = result.Event
	for try := 1; ; try++ {
		if !r.tokens(ctx) {
			return
		}
		err := s.within(ctx, func(ctx context.Context) error { return r.write(ctx, e, result.Patch) })
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded) && try >= maxUnanswered:
			r.log(trace.LevelWarn, fmt.Sprintf("event %s of %s %s is given up: not answered in %d tries of %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, try, writeLimit))
			return
		case !again(err):
			// An existing object, or a terminating namespace, is not an error.
			if !apierrors.IsAlreadyExists(err) && !apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
				r.log(trace.LevelWarn, fmt.Sprintf("the API server refused event %s of %s %s: %v", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, err))
			}
			return
		case try == maxTries:
			r.log(trace.LevelWarn, fmt.Sprintf("event %s of %s %s is given up after %d tries: %v", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, try, err))
			return
		}
		if !r.backoff(ctx, try, err) {
			return
		}
	}
}

// write creates the event, or patches the earlier event that it repeats.
func (r *Recorder) write(ctx context.Context, e *v1.Event, patch []byte) error {
	client := r.cfg.Client.Events(e.Namespace)
	var stored *v1.Event
	var err error
	if e.Count > 1 {
		stored, err = client.Patch(ctx, e.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	if e.Count <= 1 || util.IsKeyNotFoundError(err) {
		e.ResourceVersion = ""
		stored, err = client.Create(ctx, e, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	r.correlate.UpdateState(stored)
	return nil
}

// again reports whether an error is the server's or the network's, not the event's. Upstream drops the event on every
// error response.
func again(err error) bool {
	if _, ok := errors.AsType[*rest.RequestConstructionError](err); ok {
		return false
	}
	status := apierrors.APIStatus(nil)
	return !errors.As(err, &status) || status.Status().Code == http.StatusTooManyRequests ||
		status.Status().Code >= http.StatusInternalServerError
}

// tokens waits for the rate limit; false if ctx ended.
func (r *Recorder) tokens(ctx context.Context) bool {
	if r.limit.Allow() {
		return true
	}
	wait := trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetEvents}, Every: time.Duration(float64(time.Second) / float64(r.cfg.QPS)), Burst: int(r.cfg.Burst)}
	span := trace.Begin(r.cfg.Bus, trace.Span{}, wait)
	defer trace.End(r.cfg.Bus, span, wait)
	return r.limit.Wait(ctx) == nil
}

// backoff waits before the next attempt; false if ctx ended.
func (r *Recorder) backoff(ctx context.Context, try int, err error) bool {
	delay := backoff.After(backoff.Spread(firstRetry, lastRetry), try-1)
	wait := trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetEvents}, Tries: try, Ahead: len(r.queue) + len(r.warnings), Cause: err.Error(),
		Until: time.Now().Add(delay).UnixNano(),
	}
	span := trace.Begin(r.cfg.Bus, trace.Span{}, wait)
	defer trace.End(r.cfg.Bus, span, wait)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return true
	}
}

func (r *Recorder) log(level trace.LogLevel, message string) {
	trace.Point(r.cfg.Bus, trace.Span{}, trace.Log{Level: level, Message: message})
}
