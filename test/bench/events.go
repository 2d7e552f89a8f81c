package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// events is what the runtime told, by pod name.
type events struct {
	mu      sync.Mutex
	started map[string]map[string]time.Time // pod → container id → when
	stopped map[string]map[string]time.Time // the same of the end
	gone    map[string]time.Time            // pod → when its sandbox was deleted
	pods    map[string]string               // sandbox id → pod
	news    chan struct{}
}

// listen reads a runtime's event stream until ctx ends.
func listen(ctx context.Context, d *direct) (*events, error) {
	stream, err := d.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return nil, err
	}
	e := &events{started: map[string]map[string]time.Time{}, stopped: map[string]map[string]time.Time{}, gone: map[string]time.Time{}, pods: map[string]string{}, news: make(chan struct{})}
	d.events = e
	go func() {
		for {
			ev, err := stream.Recv()
			if err != nil {
				return
			}
			e.take(ev, time.Now())
		}
	}()
	time.Sleep(300 * time.Millisecond) // the stream tells nothing of when it is set up
	return e, nil
}

func (e *events) take(ev *runtimeapi.ContainerEventResponse, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := ev.GetPodSandboxStatus(); s != nil {
		e.pods[s.GetId()] = s.GetMetadata().GetName()
	}
	id := ev.GetContainerId()
	pod, isSandbox := e.pods[id]
	switch ev.GetContainerEventType() { //nolint:exhaustive // the rest tells nothing that is timed
	case runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT:
		if isSandbox {
			return
		}
		pod = ev.GetPodSandboxStatus().GetMetadata().GetName()
		note(e.started, pod, id, now)
	case runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT:
		if isSandbox {
			return
		}
		note(e.stopped, ev.GetPodSandboxStatus().GetMetadata().GetName(), id, now)
	case runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT:
		if !isSandbox {
			return
		}
		e.gone[pod] = now
	default:
		return
	}
	close(e.news)
	e.news = make(chan struct{})
}

func note(of map[string]map[string]time.Time, pod, id string, now time.Time) {
	if of[pod] == nil {
		of[pod] = map[string]time.Time{}
	}
	of[pod][id] = now
}

// awaitStarted returns when n containers of the pod had started.
func (e *events) awaitStarted(ctx context.Context, pod string, n int) (time.Time, error) {
	return e.await(ctx, "start of "+pod, func() (time.Time, bool) { return latest(e.started[pod]), len(e.started[pod]) >= n })
}

// awaitStopped returns when n containers of the pod had ended.
func (e *events) awaitStopped(ctx context.Context, pod string, n int) (time.Time, error) {
	return e.await(ctx, "end of containers of "+pod, func() (time.Time, bool) { return latest(e.stopped[pod]), len(e.stopped[pod]) >= n })
}

func latest(times map[string]time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// awaitGone returns when the pod's sandbox was deleted.
func (e *events) awaitGone(ctx context.Context, pod string) (time.Time, error) {
	return e.await(ctx, "end of "+pod, func() (time.Time, bool) { t, ok := e.gone[pod]; return t, ok })
}

// awaitAllGone waits for all pods to be gone, and returns when the last one was.
func (e *events) awaitAllGone(ctx context.Context, pods []*v1.Pod) (time.Time, error) {
	var last time.Time
	for _, p := range pods {
		at, err := e.awaitGone(ctx, p.Name)
		if err != nil {
			return time.Time{}, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

func (e *events) await(ctx context.Context, what string, get func() (time.Time, bool)) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		e.mu.Lock()
		t, ok := get()
		news := e.news
		e.mu.Unlock()
		if ok {
			return t, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for the %s: %w", what, ctx.Err())
		}
	}
}
