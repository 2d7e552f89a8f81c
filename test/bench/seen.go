package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// seen is what a watch of the API showed, and when.
type seen struct {
	mu    sync.Mutex
	ready map[string]time.Time // pod → when it was first Ready
	gone  map[string]time.Time // pod → when it was no more
	again map[string]time.Time // pod → when its container was first shown as restarted and running
	// node is when the node turned Ready, zero while it is not.
	node time.Time
	news chan struct{}
	stop context.CancelFunc
}

// look watches pods of the bench, and the node.
func look(ctx context.Context, client kubernetes.Interface) (*seen, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &seen{ready: map[string]time.Time{}, gone: map[string]time.Time{}, again: map[string]time.Time{}, news: make(chan struct{}), stop: cancel}
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(benchNamespace))
	nodes := informers.NewSharedInformerFactory(client, 0)
	_, err := pods.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.pod(o, false) },
		UpdateFunc: func(_, o any) { s.pod(o, false) },
		DeleteFunc: func(o any) { s.pod(o, true) },
	})
	if err == nil {
		_, err = nodes.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { s.see(o, false) },
			UpdateFunc: func(_, o any) { s.see(o, false) },
			DeleteFunc: func(o any) { s.see(o, true) },
		})
	}
	if err != nil {
		cancel()
		return nil, err
	}
	for _, f := range []informers.SharedInformerFactory{pods, nodes} {
		f.Start(ctx.Done())
		for t, ok := range f.WaitForCacheSync(ctx.Done()) {
			if !ok {
				cancel()
				return nil, fmt.Errorf("no watch of %v", t)
			}
		}
	}
	return s, nil
}

func (s *seen) pod(o any, gone bool) {
	now := time.Now()
	if t, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = t.Obj
	}
	p, ok := o.(*v1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone {
		s.gone[p.Name] = now
	}
	for _, c := range p.Status.ContainerStatuses {
		if _, was := s.again[p.Name]; c.RestartCount > 0 && c.State.Running != nil && !was {
			s.again[p.Name] = now
		}
	}
	for _, c := range p.Status.Conditions {
		if _, was := s.ready[p.Name]; c.Type == v1.PodReady && c.Status == v1.ConditionTrue && !was {
			s.ready[p.Name] = now
		}
	}
	s.tell()
}

func (s *seen) see(o any, gone bool) {
	now := time.Now()
	n, ok := o.(*v1.Node)
	if !ok {
		return
	}
	ready := false
	for _, c := range n.Status.Conditions {
		ready = ready || c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case gone || !ready:
		s.node = time.Time{}
	case s.node.IsZero():
		s.node = now
	}
	s.tell()
}

func (s *seen) tell() {
	close(s.news)
	s.news = make(chan struct{})
}

func (s *seen) awaitReady(ctx context.Context, pod string) (time.Time, error) {
	return s.await(ctx, "pod "+pod+" to be ready", func() (time.Time, bool) { t, ok := s.ready[pod]; return t, ok })
}

func (s *seen) awaitGone(ctx context.Context, pod string) (time.Time, error) {
	return s.await(ctx, "pod "+pod+" to be gone", func() (time.Time, bool) { t, ok := s.gone[pod]; return t, ok })
}

func (s *seen) awaitRestarted(ctx context.Context, pod string) (time.Time, error) {
	return s.await(ctx, "pod "+pod+" to be restarted", func() (time.Time, bool) { t, ok := s.again[pod]; return t, ok })
}

func (s *seen) awaitNode(ctx context.Context, ready bool) (time.Time, error) {
	return s.await(ctx, "the node", func() (time.Time, bool) { return s.node, s.node.IsZero() != ready })
}

func (s *seen) await(ctx context.Context, what string, get func() (time.Time, bool)) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		s.mu.Lock()
		t, ok := get()
		news := s.news
		s.mu.Unlock()
		if ok {
			return t, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
