package watch

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestThere: an observer takes the path of a socket that the present kubelet has, and waits for one that it does not have yet.
func TestThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Found: &discover.Found{Process: &discover.Process{PID: 1}}, Bus: trace.NewBus(1), View: fstest.MapFS{}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		api := func(f *discover.Found) string { return f.PodsAPI }
		time.AfterFunc(12*time.Second, func() { w.now.Store(&discover.Found{PodsAPI: "/proc/2/root/api.sock"}) })
		began := time.Now()
		if got, err := w.there(ctx, api); err != nil || got != "/proc/2/root/api.sock" || time.Since(began) != 15*time.Second {
			t.Errorf("got %q, %v after %v", got, err, time.Since(began))
		}
		w.now.Store(&discover.Found{PodsAPI: "/proc/3/root/api.sock"})
		if got, err := w.there(ctx, api); err != nil || got != "/proc/3/root/api.sock" {
			t.Errorf("got %q, %v", got, err)
		}
		w.now.Store(&discover.Found{})
		if _, err := w.there(ctx, api); err == nil {
			t.Error("it does not end")
		}
	})
}
