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

// hookError is a postStart hook's failure. Users are told what the hook said.
type hookError struct {
	output string
	err    error
}

func (e *hookError) Error() string { return "postStart hook: " + e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// postStart runs a container's hook. When it fails, the container is killed.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func (r *run) postStart(ctx context.Context, s *Step) error {
	if r.cfg.Hooks == nil {
		return nil
	}
	c := container(r.pod, s.Container)
	output, err := r.cfg.Hooks.Run(ctx, r.pod, c, r.targetOf(s), r.podIP(), c.Lifecycle.PostStart)
	if err == nil || ctx.Err() != nil {
		return err // when the pod ends, the container does with it
	}
	return r.hookFailed(ctx, s, output, err)
}

// hookFailed is what is done about a postStart hook that failed.
func (r *run) hookFailed(ctx context.Context, s *Step, output string, err error) error {
	c, id := container(r.pod, s.Container), r.targetOf(s)
	r.mu.Lock()
	delete(r.started, s.Container)
	r.mu.Unlock()
	// What the hook said may be a secret: it is not for events.
	r.say(ctx, v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed", s.Container)
	if kerr := r.killStarted(ctx, c, id); kerr != nil {
		return fmt.Errorf("%w; then %w", &hookError{output, err}, kerr)
	}
	return &hookError{output, err}
}

// killStarted ends a container that has just been started.
func (r *run) killStarted(ctx context.Context, c *v1.Container, id string) error {
	began := time.Now()
	s := Step{
		Container: c.Name, Target: id, Grace: podspec.GracePeriod(r.pod, nil), Reason: "its postStart hook failed", Message: "FailedPostStartHook",
	}
	if c.Lifecycle.PreStop != nil {
		if err := r.preStop(ctx, &s); err != nil {
			return err
		}
	}
	return r.stop(ctx, &s, r.graceLeft(s.Grace, began))
}

// preStop runs a container's hook, for as long as the grace period lasts and once in the container's
// life. How it ends is no reason not to stop the container.
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
	c := container(r.pod, s.Container)
	if c == nil {
		c = &v1.Container{Name: s.Container}
	}
	wait := trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetHook, Name: "preStop", Container: s.Container}, Limit: time.Duration(s.Grace) * time.Second}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(r.cfg.Bus, span, wait) }()
	limit, cancel := context.WithTimeout(trace.ContextWith(ctx, span), time.Duration(s.Grace)*time.Second)
	defer cancel()
	_, err := r.cfg.Hooks.Run(limit, r.pod, c, s.Target, r.podIP(), hook)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && limit.Err() == nil {
		r.say(ctx, v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed", s.Container)
	}
	return nil
}

// firstStop reports whether the container is told to stop for the first time.
func (r *run) firstStop(id string) (first bool) {
	seen := r.cfg.Observer.Get(r.pod.UID)
	r.learn(r.pod.UID, func(k *knowledge) {
		// Those that the runtime has removed since: a pod may live for years and its containers be replaced again and again.
		maps.DeleteFunc(k.hooked, func(old string, _ bool) bool { return old != id && seen.Container(old) == nil })
		first = !k.hooked[id]
		k.hooked[id] = true
	})
	return first
}

func (r *run) podIP() string {
	if r.pod.Spec.HostNetwork && len(r.cfg.HostIPs) > 0 {
		return r.cfg.HostIPs[0]
	}
	if len(r.podIPs) > 0 {
		return r.podIPs[0]
	}
	return ""
}
