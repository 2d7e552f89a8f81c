package podruntime

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// A sandbox whose network could not be removed is not ready afterwards. The pod has not terminated until a call succeeds, and then there is
// no further one.
func TestSandboxIsStoppedUntilItSucceeds(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		kill := func() error { return w.rt.Kill(t.Context(), pod, nil, "deleted", 1) }
		w.show(seen("sandbox:0", "web=running"))
		w.on("stop sandbox sb0", func(context.Context) error {
			w.show(seen("-sandbox:0", "web=exited/0"))
			return status.Error(codes.Unknown, "failed to destroy network for sandbox")
		})
		for i := range 3 {
			if err := kill(); status.Code(err) != codes.Unknown {
				t.Errorf("kill %d: error %v, want that of the sandbox", i, err)
			}
		}
		w.on("stop sandbox sb0", nil)
		if err := kill(); err != nil {
			t.Error(err)
		}
		equal(t, "did", []string{"stop web-0", "stop sandbox sb0", "stop sandbox sb0", "stop sandbox sb0", "stop sandbox sb0"}, w.did())
		if err := kill(); err != nil {
			t.Error(err)
		}
		equal(t, "did after a success", []string(nil), w.did())
	})
}

// The sandboxes of an earlier agent are stopped once, and those that the runtime has removed are forgotten.
func TestStoppedSandboxesAreForgotten(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		for _, tc := range []struct {
			seen *podstate.Pod
			did  []string
			left map[string]bool
		}{
			{seen("-sandbox:1", "-sandbox:0"), []string{"stop sandbox sb0", "stop sandbox sb1"}, map[string]bool{"sb0": true, "sb1": true}},
			{seen("-sandbox:1", "-sandbox:0"), nil, map[string]bool{"sb0": true, "sb1": true}},
			{seen("-sandbox:2", "-sandbox:1"), []string{"stop sandbox sb2"}, map[string]bool{"sb1": true, "sb2": true}},
		} {
			w.show(tc.seen)
			if err := w.rt.Kill(t.Context(), pod, nil, "deleted", 1); err != nil {
				t.Error(err)
			}
			did := w.did()
			slices.Sort(did)
			equal(t, "did", tc.did, did)
			equal(t, "left", tc.left, w.rt.stoppedOf(pod.UID))
		}
		if err := w.rt.Clean(t.Context(), pod, true, 1); err != nil {
			t.Error(err)
		}
		equal(t, "left after the cleanup", map[string]bool{}, w.rt.stoppedOf(pod.UID))
	})
}

// addresses checks that a new sandbox is created when no other one has an address.
type addresses struct {
	runtimeapi.RuntimeServiceClient
	runs []string
}

func (a *addresses) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest, o ...grpc.CallOption) (*runtimeapi.RunPodSandboxResponse, error) {
	list, err := a.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	for _, s := range list.GetItems() {
		st, err := a.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: s.GetId()})
		if err != nil {
			return nil, err
		}
		a.runs = append(a.runs, fmt.Sprintf("%s %q", s.GetState(), st.GetStatus().GetNetwork().GetIp()))
	}
	return a.RuntimeServiceClient.RunPodSandbox(ctx, r, o...)
}

// When a sandbox is lost, as after a reboot, the runtime releases its address before the new sandbox gets one.
func TestAddressIsReleasedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimulated(t, 1)
		watch := &addresses{RuntimeServiceClient: n.client}
		n.cfg.Sandboxes = watch
		rt, err := New(n.cfg)
		n.check(err)
		pod := always("web")
		pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command = "app:1", []string{"sleep", "infinity"}
		run := func() {
			t.Helper()
			if _, err := rt.Sync(n.ctx, pod, 1, nil); err != nil {
				t.Fatal(err)
			}
			n.check(n.events.Relist(n.ctx, "test"))
		}
		run()
		lost := n.events.Cache().Get(pod.UID).Sandbox()
		if len(lost.IPs) == 0 {
			t.Fatal("the first sandbox has no address")
		}
		n.check(n.srv.ExitSandbox(lost.ID))
		n.check(n.events.Relist(n.ctx, "test"))
		run()
		equal(t, "other sandboxes at the creation of the new one", []string{`SANDBOX_NOTREADY ""`}, watch.runs)
		if s := n.events.Cache().Get(pod.UID).Sandbox(); s.ID == lost.ID || !s.Ready {
			t.Errorf("sandbox %+v, want a new one that is ready", s)
		}
		n.stop()
	})
}
