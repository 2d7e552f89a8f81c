package podruntime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// hookTail is how long a preStop hook that exceeded its grace period may take to end after its container has stopped. A command in
// the container ends with it.
const hookTail = time.Second

// preStopHook is a hook that runs.
type preStopHook struct {
	done   <-chan struct{}
	cancel context.CancelFunc
}

// stop cancels the hook and waits for its end.
func (h preStopHook) stop() {
	h.cancel()
	<-h.done
}

// beginHook starts a preStop hook. If it fails by itself, an event says so.
func (r *run) beginHook(ctx context.Context, s *Step, hook *v1.LifecycleHandler) preStopHook {
	c := podspec.Container(r.pod, s.Container)
	if c == nil {
		c = &v1.Container{Name: s.Container}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := r.cfg.Hooks.Run(ctx, r.pod, c, s.Target, r.podIP(), hook); err != nil && ctx.Err() == nil {
			r.say(ctx, v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed", s.Container)
		}
	}()
	return preStopHook{done, cancel}
}

// late keeps a hook that has exceeded the grace period until its container has stopped. A sleep has no more effect, and ends.
func (r *run) late(target string, h preStopHook, hook *v1.LifecycleHandler) {
	if hook.Sleep != nil {
		h.stop()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lateHooks[target] = h
}

// endLate ends the hook of a container that was stopped.
func (r *run) endLate(ctx context.Context, target string) {
	r.mu.Lock()
	h, ok := r.lateHooks[target]
	delete(r.lateHooks, target)
	r.mu.Unlock()
	if !ok {
		return
	}
	tail := time.NewTimer(hookTail)
	defer tail.Stop()
	select {
	case <-h.done:
	case <-tail.C:
	case <-ctx.Done():
	}
	h.stop()
}

// endAllLate ends the hooks of containers that were not stopped. Called when no step runs.
func (r *run) endAllLate() {
	for _, h := range r.lateHooks {
		h.stop()
	}
}
