package podsapi

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// watcher is a client that watches.
type watcher struct {
	more chan struct{}
	// seen are the pods that were sent, with the names that their deletions need. Only the client's goroutine uses it.
	seen map[types.UID]metav1.ObjectMeta

	mu    sync.Mutex
	dirty map[types.UID]struct{}
}

// Watchers are the clients that watch. They are built before the pods, whose changes they receive. Safe for concurrent use.
type Watchers struct {
	mu  sync.Mutex
	all map[*watcher]struct{}
}

// NewWatchers returns an empty list.
func NewWatchers() *Watchers { return &Watchers{all: map[*watcher]struct{}{}} }

func (s *Watchers) join() *watcher {
	w := &watcher{more: make(chan struct{}, 1), seen: map[types.UID]metav1.ObjectMeta{}, dirty: map[types.UID]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[w] = struct{}{}
	return w
}

func (s *Watchers) leave(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

// Changed reports that a pod, or its status, has changed, or that it is gone. It does not block.
func (s *Watchers) Changed(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		w.mark(uid)
	}
}

func (w *watcher) mark(uid types.UID) {
	w.mu.Lock()
	w.dirty[uid] = struct{}{}
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns the pods that have changed since the last call, sorted.
func (w *watcher) take() []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Sorted(maps.Keys(w.dirty))
	clear(w.dirty)
	return out
}

// send sends a pod.
func (w *watcher) send(stream grpc.ServerStreamingServer[api.WatchPodsEvent], pod *v1.Pod) error {
	text, err := encode(pod)
	if err != nil {
		return err
	}
	kind := api.EventType_ADDED
	if _, before := w.seen[pod.UID]; before {
		kind = api.EventType_MODIFIED
	}
	w.seen[pod.UID] = metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}
	return stream.Send(&api.WatchPodsEvent{Type: kind, Pod: text})
}

// gone sends that a pod is gone, if it was sent.
func (w *watcher) gone(stream grpc.ServerStreamingServer[api.WatchPodsEvent], uid types.UID) error {
	meta, sent := w.seen[uid]
	if !sent {
		return nil
	}
	delete(w.seen, uid)
	text, err := (&v1.Pod{ObjectMeta: meta}).Marshal()
	if err != nil {
		return err
	}
	return stream.Send(&api.WatchPodsEvent{Type: api.EventType_DELETED, Pod: text})
}
