package say

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestDRA(t *testing.T) {
	const gpu, socket = "gpu.example.com", "/var/lib/kubelet/plugins/gpu.example.com/dra.sock"
	claim := func(op trace.ClaimOp) trace.ResourceClaim {
		return trace.ResourceClaim{Op: op, Namespace: "shop", Name: "gpu", UID: "u"}
	}
	by := func(e trace.ResourceClaim, took time.Duration, batch int) *trace.ResourceClaim {
		e.Driver, e.Took, e.Batch = gpu, took, batch
		return &e
	}
	devices := claim(trace.ClaimPrepared)
	devices.Devices, devices.Count = []string{"node/gpu-0", "node/gpu-1"}, 3
	failed := claim(trace.ClaimNotPrepared)
	failed.Fault, failed.Err = trace.FaultUnallocated, "ResourceClaim gpu: not allocated"
	stuck := claim(trace.ClaimNotReleased)
	stuck.Fault, stuck.Err = trace.FaultDriverTimeout, "rpc error"
	shared, used := claim(trace.ClaimShared), claim(trace.ClaimStillInUse)
	skipped := claim(trace.ClaimSkipped)
	skipped.Driver, skipped.Method = gpu, "NodePrepareResources"
	for want, e := range map[string]trace.Event{
		"DRA driver gpu.example.com registered: v1.DRAPlugin v1.DRAResourceHealth at " + socket: &trace.DRAPlugin{
			Op: trace.DRARegistered, Driver: gpu, Socket: socket, Service: "v1.DRAPlugin", Health: "v1.DRAResourceHealth",
		},
		"DRA driver gpu.example.com was refused: no version":                                                                                    &trace.DRAPlugin{Op: trace.DRARefused, Driver: gpu, Err: "no version"},
		"DRA driver gpu.example.com is connected: " + socket:                                                                                    &trace.DRAPlugin{Op: trace.DRAConnected, Driver: gpu, Socket: socket},
		"DRA driver gpu.example.com is disconnected: " + socket:                                                                                 &trace.DRAPlugin{Op: trace.DRADisconnected, Driver: gpu, Socket: socket},
		"DRA driver gpu.example.com is gone: " + socket:                                                                                         &trace.DRAPlugin{Op: trace.DRAGone, Driver: gpu, Socket: socket},
		"ResourceSlices of DRA driver gpu.example.com were deleted: it cannot be used":                                                          &trace.DRAPlugin{Op: trace.DRAWiped, Driver: gpu},
		"ResourceSlices of DRA driver gpu.example.com could not be deleted: forbidden":                                                          &trace.DRAPlugin{Op: trace.DRAWiped, Driver: gpu, Err: "forbidden"},
		"ResourceSlices of this node were deleted: no DRA driver has registered yet":                                                            &trace.DRAPlugin{Op: trace.DRAWiped},
		"ResourceClaim shop/gpu prepared by DRA driver gpu.example.com: node/gpu-0, node/gpu-1 and 1 more (the driver took 1.50s for 2 claims)": by(devices, 1500*time.Millisecond, 2),
		"ResourceClaim shop/gpu unprepared by DRA driver gpu.example.com (the driver took 2ms)":                                                 by(claim(trace.ClaimUnprepared), 2*time.Millisecond, 1),
		"ResourceClaim shop/gpu could not be prepared: ResourceClaim gpu: not allocated":                                                        &failed,
		"ResourceClaim shop/gpu could not be unprepared by DRA driver gpu.example.com: rpc error":                                               by(stuck, 0, 0),
		"ResourceClaim shop/gpu is prepared already, for another pod":                                                                           &shared,
		"ResourceClaim shop/gpu: DRA driver gpu.example.com need not be called (NodePrepareResources)":                                          &skipped,
		"ResourceClaim shop/gpu is still used by another pod":                                                                                   &used,
	} {
		if got := Line(&trace.Record{Event: e}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for want, w := range map[string]trace.Wait{
		"claims for DRA driver gpu.example.com": {For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: gpu}},
		"claims for ResourceClaim shop/gpu":     {For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetResourceClaim, Namespace: "shop", Name: "gpu"}},
	} {
		if got := Waits(&w); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The state of a claim has words, and no line: what happened to the claim has one.
func TestClaimState(t *testing.T) {
	for state, want := range map[trace.ClaimState]string{
		trace.ClaimRestored: "prepared by an earlier agent", trace.ClaimPreparing: "being prepared", trace.ClaimReady: "prepared", trace.ClaimFailed: "not prepared",
		trace.ClaimUnpreparing: "being unprepared", trace.ClaimStuck: "not unprepared", trace.ClaimGone: "not used any more", "new": "new",
		trace.ClaimListed: "listed by the kubelet; what its drivers did is not known",
	} {
		if got := ClaimState(state); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
		if got := Line(&trace.Record{Event: &trace.ClaimDescribed{Namespace: "shop", Name: "gpu", State: state}}); got != "" {
			t.Errorf("%s: %s", state, got)
		}
	}
	if got := Brief(&trace.ClaimDescribed{Name: "gpu", State: trace.ClaimFailed, FaultDriver: "gpu.example.com"}); got != "gpu prepare-failed gpu.example.com" {
		t.Error(got)
	}
}
