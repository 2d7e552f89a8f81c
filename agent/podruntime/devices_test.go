package podruntime

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

// fakeDevices gives each container a device and a variable.
type fakeDevices struct {
	*world
	err error
}

func (f fakeDevices) Container(ctx context.Context, _ *v1.Pod, c *v1.Container) (criconfig.Given, error) {
	return criconfig.Given{
		Env: []criconfig.Var{{Name: "GPU", Value: "g0"}}, Devices: []*runtimeapi.Device{{HostPath: "/dev/null", ContainerPath: "/dev/g0"}},
	}, errors.Join(f.err, f.do(ctx, "devices of "+c.Name))
}

func (f fakeDevices) PreStart(ctx context.Context, _ *v1.Pod, c *v1.Container) error {
	return f.do(ctx, "prepare devices of "+c.Name)
}

// A device plugin hangs while a container is prepared: another pod gets the slot meanwhile.
func TestLeaseIsFreeWhileAPluginHangs(t *testing.T) {
	for _, call := range []string{"devices of web", "prepare devices of web"} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			w.rt.cfg.Devices = fakeDevices{world: w}
			answers := w.block(call)
			done := make(chan error, 1)
			go func() { _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); done <- err }()
			synctest.Wait()
			place, err := w.slots.Acquire(t.Context(), semaphore.Turn{Order: 2})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if busy := w.busyNow(); len(busy) != 1 || busy[0] != call {
				t.Errorf("%v is under way, want only %q", busy, call)
			}
			place.Release()
			answers()
			if err := <-done; err != nil {
				t.Error(err)
			}
			did := w.did()
			if a, b, c := slices.Index(did, "devices of web"), slices.Index(did, "prepare devices of web"), slices.Index(did, "create web"); a < 0 || b < a || c < b {
				t.Errorf("did %v", did)
			}
		})
	}
}

// A container that cannot get its devices is not created.
func TestNoDevices(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.Devices = fakeDevices{world: w, err: errors.New("no healthy devices present")}
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err == nil {
			t.Error("no error")
		}
		if why := w.rt.Reasons("uid")["web"]; why.Reason != criconfig.ReasonContainerConfig || why.Message != "container web: resources.limits: no healthy devices present" {
			t.Errorf("reason %+v of %+v", why, w.rt.reasons)
		}
		if slices.Contains(w.did(), "create web") {
			t.Error("the container was created")
		}
	})
}
