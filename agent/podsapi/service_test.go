package podsapi

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// fakePods are the node's pods.
type fakePods struct {
	mu  sync.Mutex
	all map[types.UID]v1.Pod
}

func (f *fakePods) Pods() (out []v1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.all {
		out = append(out, p)
	}
	return out
}

func (f *fakePods) Copy(uid types.UID) *v1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.all[uid]; ok {
		return &p
	}
	return nil
}

func (f *fakePods) set(uid string, phase v1.PodPhase) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[types.UID(uid)] = v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n-" + uid, Namespace: "shop", UID: types.UID(uid)}, Status: v1.PodStatus{Phase: phase}}
}

// stream is a client that watches.
type stream struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // of the stream
	sent chan string
}

func (s *stream) Context() context.Context { return s.ctx }
func (s *stream) Send(e *api.WatchPodsEvent) error {
	text, err := show(e.Pod)
	if err != nil {
		return err
	}
	select {
	case s.sent <- e.Type.String() + text:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func show(text []byte) (string, error) {
	if text == nil {
		return "", nil
	}
	var p v1.Pod
	err := p.Unmarshal(text)
	return fmt.Sprintf(" %s/%s %s %s", p.Namespace, p.Name, p.UID, p.Status.Phase), err
}

func TestService(t *testing.T) {
	f, w := &fakePods{all: map[types.UID]v1.Pod{}}, NewWatchers()
	complete := false
	s, err := New(f, w, func() bool { return complete })
	if err != nil {
		t.Fatal(err)
	}
	f.set("u2", v1.PodRunning)
	f.set("u1", "")
	if _, err := s.ListPods(t.Context(), nil); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	if err := s.WatchPods(nil, &stream{ctx: t.Context()}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	complete = true
	all, err := s.ListPods(t.Context(), nil)
	if err != nil || len(all.Pods) != 2 {
		t.Fatal(all, err)
	}
	if got, err := show(all.Pods[0]); err != nil || got != " shop/n-u1 u1 Pending" {
		t.Error(got, err)
	}
	one, err := s.GetPod(t.Context(), &api.GetPodRequest{PodUID: "u2"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := show(one.Pod); err != nil || got != " shop/n-u2 u2 Running" {
		t.Error(got, err)
	}
	if _, err := s.GetPod(t.Context(), &api.GetPodRequest{PodUID: "u9"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

func TestWatch(t *testing.T) {
	f, w := &fakePods{all: map[types.UID]v1.Pod{}}, NewWatchers()
	s, err := New(f, w, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	f.set("u1", v1.PodRunning)
	ctx, cancel := context.WithCancel(t.Context())
	client := &stream{ctx: ctx, sent: make(chan string)}
	done := make(chan error, 1)
	go func() { done <- s.WatchPods(nil, client) }()
	want := func(text string) {
		t.Helper()
		select {
		case got := <-client.sent:
			if got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no %q", text)
		}
	}
	want("ADDED shop/n-u1 u1 Running")
	want("INITIAL_SYNC_COMPLETE")
	f.set("u2", v1.PodPending)
	w.Changed("u2")
	want("ADDED shop/n-u2 u2 Pending")
	// A slow client receives only the latest version, and learns nothing of a pod that it has never seen.
	f.set("u1", v1.PodFailed)
	w.Changed("u1")
	want("MODIFIED shop/n-u1 u1 Failed")
	w.Changed("u8")
	f.mu.Lock()
	delete(f.all, "u1")
	f.mu.Unlock()
	w.Changed("u1")
	want("DELETED shop/n-u1 u1 ")
	for range 1000 {
		w.Changed("u2") // it never blocks
	}
	want("MODIFIED shop/n-u2 u2 Pending")
	cancel()
	<-done
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) != 0 {
		t.Error("the client is still there")
	}
}
