package csi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/volume"
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

// A CSIDriver object may get requiresRepublish while volumes of the driver are mounted.
func TestRepublishIsRequiredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
		api := fake.NewClientset(object)
		p, told := newPlugin(t, api), 0
		p.cfg.Republish = func() { told++ }
		p.drivers["d"] = &driver{name: "d"}
		ctx, cancel := context.WithCancel(t.Context())
		go p.keepCounts(ctx)
		spec := volume.Spec{Pod: &v1.Pod{}, Volume: &v1.Volume{VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}}}
		want := func(when string, times int, again bool) {
			t.Helper()
			synctest.Wait()
			if at := p.RefreshAt(spec); told != times || at.IsZero() == again {
				t.Errorf("%s: told %d times, again at %v", when, told, at)
			}
		}
		want("not required", 0, false)
		object.Spec.RequiresRepublish = new(true)
		if _, err := api.StorageV1().CSIDrivers().Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(periodLook + periodLook/10)
		want("required", 1, true)
		time.Sleep(time.Hour)
		want("still required", 1, true)
		cancel()
		synctest.Wait()
	})
}
