package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// relistLoop relists on demand and periodically: often without events or after a failure, rarely with them.
func (p *PLEG) relistLoop(ctx context.Context) {
	for {
		cause := trace.RelistPeriod
		p.mu.Lock()
		period := p.cfg.PollPeriod
		if p.evented && p.failing.IsZero() {
			period = p.cfg.Period
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case cause = <-p.relist:
		case <-time.After(period):
		}
		_ = p.Relist(ctx, cause) // published; the next relist retries
	}
}

// UnseenError means that the runtime listed everything but did not return the status of some pods. The next relist
// requests them again.
type UnseenError struct{ Err error }

// Error implements error.
func (e *UnseenError) Error() string { return e.Err.Error() }

// Unwrap returns the pods' errors.
func (e *UnseenError) Unwrap() error { return e.Err }

// Relist lists everything the runtime has, refreshes the pods that changed and emits their events. The error is an [*UnseenError]
// if the status of some pods is missing; for a pod without any status, its [podstate.Pod.Unseen] outline is cached.
func (p *PLEG) Relist(ctx context.Context, cause trace.RelistCause) error {
	rl := trace.PLEGRelist{Cause: cause}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), rl)
	p.begun()
	err := p.relistAll(trace.ContextWith(ctx, span), span, &rl)
	if err != nil {
		rl.Err = err.Error()
	}
	p.ended(err)
	trace.End(p.cfg.Bus, span, rl)
	return err
}

// begun notes since when the runtime is asked for a list.
func (p *PLEG) begun() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() {
		p.failing = time.Now()
	}
}

// ended notes how a relist ended. The runtime listed its pods also if it did not know the status of some.
func (p *PLEG) ended(err error) {
	var unseen *UnseenError
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.last = time.Now()
	}
	if err == nil || errors.As(err, &unseen) {
		p.failing = time.Time{}
	}
}

func (p *PLEG) relistAll(ctx context.Context, span trace.Span, rl *trace.PLEGRelist) error {
	asked := time.Now()
	listed, err := p.list(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range listed {
		rl.Sandboxes += len(l.sandboxes)
		rl.Containers += len(l.containers)
	}
	for uid, old := range p.cache.All() {
		if _, ok := listed[uid]; !ok {
			listed[uid] = &listing{ref: criconfig.PodRef{Namespace: old.Namespace, Name: old.Name, UID: uid}}
		}
	}
	var mu sync.Mutex // guards errs and rl
	var errs []error
	var group errgroup.Group
	group.SetLimit(statusesAtOnce)
	for uid, l := range listed {
		if l.matches(p.cache.Get(uid)) {
			continue
		}
		group.Go(func() error {
			events, err := p.refreshListed(ctx, uid, l, asked, span)
			mu.Lock()
			defer mu.Unlock()
			rl.Events += events
			if err != nil {
				errs = append(errs, err) // a pod whose status call fails does not hide the others
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if len(errs) > 0 {
		return &UnseenError{Err: errors.Join(errs...)}
	}
	p.cache.complete(asked)
	return nil
}

// A relist asks about this many pods at once, and about each for at most this long. So a pod whose status call hangs
// (for example because its shim hangs) delays the others' events for a bounded time.
const (
	statusesAtOnce = 4
	statusLimit    = 10 * time.Second
)

// refreshListed asks about one pod and emits its changes. It returns the number of events.
func (p *PLEG) refreshListed(ctx context.Context, uid types.UID, l *listing, asked time.Time, span trace.Span) (events int, err error) {
	limited, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	next, err := p.statuses(limited, l, asked)
	if err != nil {
		p.cache.outline(l.outline(asked))
		return 0, err
	}
	old, taken := p.cache.put(next)
	if !taken {
		p.Demand(trace.RelistOvertaken) // the event may be about one sandbox only
		return 0, nil
	}
	if old != nil && old.Unseen {
		old = nil // no events were sent for its content
	}
	changes := diff(old, next)
	p.emit(ctx, uid, podOf(next), trace.PLEGRelists, 0, span, changes)
	return len(changes), nil
}

// Refresh gets the status of one pod from the runtime. It emits no events, because the caller handles the result.
func (p *PLEG) Refresh(ctx context.Context, uid types.UID) (*podstate.Pod, error) {
	asked := time.Now()
	defer p.refreshed(asked)
	listed, err := p.list(ctx, map[string]string{kubelettypes.KubernetesPodUIDLabel: string(uid)})
	if err != nil {
		return nil, err
	}
	l := listed[uid]
	if l == nil {
		l = &listing{ref: criconfig.PodRef{UID: uid}}
	}
	next, err := p.statuses(ctx, l, asked)
	if err != nil {
		return nil, err
	}
	if _, taken := p.cache.put(next); !taken {
		return p.cache.Get(uid), nil
	}
	if len(next.Sandboxes) == 0 && len(next.Containers) == 0 {
		return nil, nil
	}
	return next, nil
}

// refreshed counts a Refresh that began then.
func (p *PLEG) refreshed(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.single.Add(time.Since(began))
}

// Refreshes returns how long each Refresh took. Upstream: pkg/kubelet/pleg/generic.go, relistPod.
func (p *PLEG) Refreshes() exposition.Durations {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.single
}

// listing is a pod in the results of the two list calls.
type listing struct {
	ref        criconfig.PodRef
	sandboxes  []*runtimeapi.PodSandbox
	containers []*runtimeapi.Container
}

func (p *PLEG) list(ctx context.Context, labels map[string]string) (map[types.UID]*listing, error) {
	sandboxes, err := p.cfg.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: labels}})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	containers, err := p.cfg.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: labels}})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	out := map[types.UID]*listing{}
	of := func(l, a map[string]string) *listing {
		ref := criconfig.ParseSandbox(l, a)
		if !known(ref.UID) {
			return nil
		}
		if out[ref.UID] == nil {
			out[ref.UID] = &listing{ref: ref}
		}
		return out[ref.UID]
	}
	for _, s := range sandboxes.GetItems() {
		if l := of(s.GetLabels(), s.GetAnnotations()); l != nil {
			l.sandboxes = append(l.sandboxes, s)
		}
	}
	for _, c := range containers.GetContainers() {
		if l := of(c.GetLabels(), nil); l != nil {
			l.containers = append(l.containers, c)
		}
	}
	return out, nil
}

// outline returns what the list calls show of the pod.
func (l *listing) outline(asked time.Time) *podstate.Pod {
	out := &podstate.Pod{UID: l.ref.UID, Name: l.ref.Name, Namespace: l.ref.Namespace, At: asked, Unseen: true}
	for _, s := range l.sandboxes {
		out.Sandboxes = append(out.Sandboxes, podstate.Sandbox{
			ID: s.GetId(), Attempt: s.GetMetadata().GetAttempt(), Ready: s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY, CreatedAt: at(s.GetCreatedAt()),
		})
	}
	for _, c := range l.containers {
		out.Containers = append(out.Containers, podstate.Container{
			ID: c.GetId(), Name: c.GetMetadata().GetName(), SandboxID: c.GetPodSandboxId(), State: stateOf(c.GetState()),
			Attempt: c.GetMetadata().GetAttempt(), CreatedAt: at(c.GetCreatedAt()),
		})
	}
	newestFirst(out)
	return out
}

// matches reports whether the cached pod has the same ids in the same states, so that no status call is needed.
func (l *listing) matches(old *podstate.Pod) bool {
	if old == nil {
		return len(l.sandboxes) == 0 && len(l.containers) == 0
	}
	if old.Unseen || len(old.Sandboxes) != len(l.sandboxes) || len(old.Containers) != len(l.containers) {
		return false
	}
	ready := map[string]bool{}
	for _, s := range old.Sandboxes {
		ready[s.ID] = s.Ready
	}
	for _, s := range l.sandboxes {
		was, ok := ready[s.GetId()]
		if !ok || was != (s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY) {
			return false
		}
	}
	for _, c := range l.containers {
		was := old.Container(c.GetId())
		if was == nil || was.State != stateOf(c.GetState()) {
			return false
		}
	}
	return true
}

// statuses requests the details of a listed pod. It omits what was removed meanwhile.
func (p *PLEG) statuses(ctx context.Context, l *listing, asked time.Time) (*podstate.Pod, error) {
	out := &podstate.Pod{UID: l.ref.UID, Name: l.ref.Name, Namespace: l.ref.Namespace, At: asked}
	for _, s := range l.sandboxes {
		r, err := p.cfg.Runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: s.GetId()})
		switch {
		case status.Code(err) == codes.NotFound:
		case err != nil:
			return nil, fmt.Errorf("status of sandbox %s: %w", s.GetId(), err)
		default:
			out.Sandboxes = append(out.Sandboxes, sandboxOf(r.GetStatus()))
		}
	}
	for _, c := range l.containers {
		r, err := p.cfg.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: c.GetId()})
		switch {
		case status.Code(err) == codes.NotFound:
		case err != nil:
			return nil, fmt.Errorf("status of container %s: %w", c.GetId(), err)
		default:
			out.Containers = append(out.Containers, containerOf(r.GetStatus(), c.GetPodSandboxId()))
		}
	}
	newestFirst(out)
	return out, nil
}
