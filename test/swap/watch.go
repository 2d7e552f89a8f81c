package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher notes what the API shows between two looks: what changed and changed back counts too.
type watcher struct {
	pods, events watch.Interface
	work         sync.WaitGroup
	mu           sync.Mutex
	last         map[string]string
	seen         []string
	told         map[string]int
}

func (s *swap) watch(ctx context.Context) (*watcher, error) {
	w := &watcher{last: map[string]string{}, told: map[string]int{}}
	pods, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, p := range pods.Items {
		w.last[p.Name] = gist(&p)
	}
	if w.pods, err = s.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: pods.ResourceVersion}); err != nil {
		return nil, err
	}
	events, err := s.client.CoreV1().Events("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	if w.events, err = s.client.CoreV1().Events("").Watch(ctx, metav1.ListOptions{ResourceVersion: events.ResourceVersion}); err != nil {
		return nil, err
	}
	w.work.Go(func() {
		for e := range w.pods.ResultChan() {
			if p, ok := e.Object.(*v1.Pod); ok {
				w.pod(e.Type, p)
			}
		}
	})
	w.work.Go(func() {
		for e := range w.events.ResultChan() {
			if ev, ok := e.Object.(*v1.Event); ok {
				w.event(ev)
			}
		}
	})
	return w, nil
}

// gist is what must not change.
func gist(p *v1.Pod) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s ready=%v deleted=%v", p.Status.Phase, ready(p), p.DeletionTimestamp != nil)
	for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		id := strings.TrimPrefix(st.ContainerID, "containerd://")
		state := "waiting"
		switch {
		case st.State.Running != nil:
			state = "running"
		case st.State.Terminated != nil:
			state = "terminated"
		}
		_, _ = fmt.Fprintf(&b, " %s=%s/%s/%d/%v", st.Name, id[:min(8, len(id))], state, st.RestartCount, st.Ready)
	}
	return b.String()
}

func (w *watcher) pod(kind watch.EventType, p *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := gist(p)
	if kind == watch.Deleted {
		now = "deleted"
	}
	if was := w.last[p.Name]; was != now {
		w.seen = append(w.seen, fmt.Sprintf("pod %s\n        %s\n        %s", p.Name, was, now))
	}
	w.last[p.Name] = now
}

func (w *watcher) event(e *v1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[fmt.Sprintf("%s %s/%s %s: %s", e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)]++
}

func (w *watcher) stop() {
	w.pods.Stop()
	w.events.Stop()
	w.work.Wait()
}

func (w *watcher) changes() []string { return w.seen }

func (w *watcher) eventLines() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(w.told)) {
		out = append(out, fmt.Sprintf("%s (×%d)", k, w.told[k]))
	}
	return out
}
