package csi

import (
	"context"
	"errors"
	"fmt"
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
		fails := errors.New("down")
		api.PrependReactor("create", "csinodes", func(clienttesting.Action) (bool, runtime.Object, error) { return fails != nil, nil, fails })
		p := newPlugin(t, api)
		changed := 0
		p.cfg.ReadyChanged = func() { changed++ }
		want := func(text string, changes int) {
			t.Helper()
			synctest.Wait()
			if got := fmt.Sprint(p.NotReady()); got != text || changed != changes {
				t.Errorf("not ready: %s after %d changes, want %s after %d", got, changed, text, changes)
			}
		}
		want("CSINode is not yet initialized", 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		want("CSINode is not yet initialized", 0) // a conflict, for example, is over soon
		time.Sleep(2 * time.Second)
		want("failed to initialize CSINode: down", 1)
		fails = nil
		time.Sleep(2 * time.Second)
		want("<nil>", 2)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
