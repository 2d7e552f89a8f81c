package csi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Pods may name any driver: the number of cached answers is limited.
func TestInfosAreBounded(t *testing.T) {
	p := newPlugin(t, fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}}))
	for i := range 2 * maxInfos {
		if info, err := p.info(t.Context(), fmt.Sprint("made-up-", i)); info != nil || err != nil {
			t.Fatal(info, err)
		}
	}
	if n := len(p.infos.known); n > maxInfos {
		t.Errorf("%d answers are kept, want %d at most", n, maxInfos)
	}
	if info, err := p.info(t.Context(), "d"); info == nil || err != nil {
		t.Error(info, err)
	}
}

// An API server that does not respond about one driver delays neither a pod of another, nor one that is canceled.
func TestInfoOfOneDriverHoldsNobodyUp(t *testing.T) {
	api := fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "b"}})
	asked, give := make(chan struct{}), make(chan struct{})
	api.PrependReactor("get", "csidrivers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if g, ok := a.(clienttesting.GetAction); ok && g.GetName() == "a" {
			close(asked)
			<-give
		}
		return false, nil, nil
	})
	t.Cleanup(func() { close(give) })
	p := newPlugin(t, api)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.info(ctx, "a")
		done <- err
	}()
	<-asked
	if _, ok := p.infos.get("b"); ok {
		t.Error("b is known")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
