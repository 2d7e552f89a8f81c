package csi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, _ := ownedCSINode()
		api := fake.NewClientset(node)
		var up atomic.Bool
		api.PrependReactor("create", "csinodes", func(clienttesting.Action) (bool, runtime.Object, error) { return !up.Load(), nil, errors.New("down") })
		p := newPlugin(t, api)
		var changed atomic.Int64
		p.cfg.ReadyChanged = func() { changed.Add(1) }
		want := func(text string, changes int64) {
			t.Helper()
			synctest.Wait()
			if got := fmt.Sprint(p.NotReady()); got != text || changed.Load() != changes {
				t.Errorf("not ready: %s after %d changes, want %s after %d", got, changed.Load(), text, changes)
			}
		}
		want("CSINode is not yet initialized", 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		want("CSINode is not yet initialized", 0) // a conflict, for example, is over soon
		time.Sleep(2 * time.Second)
		want("failed to initialize CSINode: down", 1)
		up.Store(true)
		time.Sleep(2 * time.Second)
		want("<nil>", 2)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
