package worker

import (
	"context"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A registry that was created before the manager has the state of the manager's workers.
func TestRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		stopped, terminated := make(chan struct{}), make(chan struct{})
		f := &fake{
			t: t, sync: func(context.Context, *v1.Pod) (Result, error) { return Result{}, nil },
			terminate: func(context.Context, *v1.Pod, *int64) error { <-stopped; return nil },
			clean:     func(context.Context, *v1.Pod, bool) error { <-terminated; return nil },
		}
		m, err := New(Config{Syncer: f, Registry: r})
		if err != nil {
			t.Fatal(err)
		}
		want := func(state State, running bool) {
			t.Helper()
			synctest.Wait()
			if r.State("u") != state || r.Running("u") != running || (len(r.Unended()) == 1) != running {
				t.Errorf("state %q, running %v, want %q, %v", r.State("u"), r.Running("u"), state, running)
			}
		}
		want(None, false)
		if r.Wake("u", Cause{Text: "test"}) {
			t.Error("a pod without a worker was woken")
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p"}}
		m.Ask("u", Ask{Pod: pod})
		want(Syncing, true)
		if !r.Wake("u", Cause{Text: "test"}) || r.Pods()["u"] != pod {
			t.Errorf("the pod was not woken, or is not known: %v", r.Pods())
		}
		m.Ask("u", Ask{Pod: pod, End: true})
		want(Terminating, true)
		close(stopped)
		want(Terminated, false)
		if r.Cleaned("u") || !r.Cleaned("unknown") {
			t.Error("a pod is clean before it was cleaned, or one that does not exist is not")
		}
		close(terminated)
		synctest.Wait()
		if !r.Cleaned("u") {
			t.Error("the pod was cleaned")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
