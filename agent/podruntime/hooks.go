package podruntime

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// hookError is the failure of a postStart hook. Users see the hook's output.
type hookError struct {
	output string
	err    error
}

func (e *hookError) Error() string { return "postStart hook: " + e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// postStart runs a container's hook. If it fails, the container is killed.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func (r *run) postStart(ctx context.Context, s *Step) error {
	if r.cfg.Hooks == nil {
		return nil
	}
	c := podspec.Container(r.pod, s.Container)
	output, err := r.cfg.Hooks.Run(ctx, r.pod, c, r.targetOf(s), r.podIP(), c.Lifecycle.PostStart)
	if err == nil || ctx.Err() != nil {
		return err // when the pod terminates, so does the container
	}
	return r.hookFailed(ctx, s, output, err)
}

// hookFailed handles the failure of a postStart hook.
func (r *run) hookFailed(ctx context.Context, s *Step, output string, err error) error {
	c, id := podspec.Container(r.pod, s.Container), r.targetOf(s)
	r.mu.Lock()
	delete(r.started, s.Container)
	r.mu.Unlock()
	// The hook's output may contain a secret: it is not for events.
	r.say(ctx, v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed", s.Container)
	if kerr := r.killStarted(ctx, c, id); kerr != nil {
		return fmt.Errorf("%w; then %w", &hookError{output, err}, kerr)
	}
	return &hookError{output, err}
}

// killStarted kills a container that has just started.
func (r *run) killStarted(ctx context.Context, c *v1.Container, id string) error {
	began := time.Now()
	s := Step{
		Container: c.Name, Target: id, Grace: podspec.ContainerGracePeriod(r.pod), Reason: "its postStart hook failed", Message: "FailedPostStartHook",
	}
	if c.Lifecycle.PreStop != nil && s.Grace > 0 {
		if err := r.preStop(ctx, &s); err != nil {
			return err
		}
	}
	return r.stop(ctx, &s, r.graceLeft(s.Grace, began))
}

// preStop runs a container's hook, once in the container's life, and waits for it for at most the grace period. The container is stopped
// whether or not the hook succeeds. A hook that takes longer continues until the container has stopped.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, executePreStopHook.
func (r *run) preStop(ctx context.Context, s *Step) error {
	r.sayKilling(ctx, s)
	seen := r.seen.Container(s.Target)
	if seen == nil {
		seen = &podstate.Container{Name: s.Container}
	}
	hook := preStop(r.pod, seen)
	if r.cfg.Hooks == nil || hook == nil || !r.firstStop(s.Target) {
		return nil
	}
	wait := trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetHook, Name: "preStop", Container: s.Container}, Limit: time.Duration(s.Grace) * time.Second}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(r.cfg.Bus, span, wait) }()
	limit := time.NewTimer(wait.Limit)
	defer limit.Stop()
	h := r.beginHook(trace.ContextWith(ctx, span), s, hook)
	select {
	case <-h.done:
		h.stop()
	case <-limit.C:
		r.late(s.Target, h, hook)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// firstStop reports whether this is the first time that the container is stopped.
func (r *run) firstStop(id string) (first bool) {
	seen := r.cfg.Observer.Get(r.pod.UID)
	r.learn(r.pod.UID, func(k *knowledge) {
		// Forget those that the runtime has removed: a pod may live for years, and its containers may be replaced
		// often.
		maps.DeleteFunc(k.hooked, func(old string, _ bool) bool { return old != id && seen.Container(old) == nil })
		first = !k.hooked[id]
		k.hooked[id] = true
	})
	return first
}

func (r *run) podIP() string {
	ips := r.podIPs
	if r.pod.Spec.HostNetwork {
		ips = r.cfg.HostIPs()
	}
	if len(ips) > 0 {
		return ips[0]
	}
	return ""
}
