package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Calls of DRA drivers, and the claims that they have prepared: upstream's names.
func TestClaims(t *testing.T) {
	s, reg := newSink(t)
	put := func(edge trace.Edge, e trace.Event) {
		s.Apply(&trace.Record{Edge: edge, Event: e, Dur: 2 * time.Second})
	}
	const prepare, unprepare = "v1.DRAPlugin/NodePrepareResources", "v1.DRAPlugin/NodeUnprepareResources"
	claim := func(op trace.ClaimOp, uid, driver, method string, batch int) *trace.ResourceClaim {
		return &trace.ResourceClaim{Op: op, UID: uid, Driver: driver, Method: method, Batch: batch, Took: time.Second}
	}
	put(trace.EdgePoint, claim(trace.ClaimPrepared, "a", "gpu", prepare, 2))
	put(trace.EdgePoint, claim(trace.ClaimPrepared, "b", "gpu", prepare, 0)) // of the same call
	put(trace.EdgePoint, claim(trace.ClaimPrepared, "a", "nic", prepare, 1))
	put(trace.EdgePoint, claim(trace.ClaimPrepared, "a", "gpu", prepare, 1)) // for another sandbox
	put(trace.EdgePoint, claim(trace.ClaimShared, "a", "", "", 0))
	failed := claim(trace.ClaimNotPrepared, "c", "gpu", prepare, 1)
	failed.Code = "Unavailable"
	put(trace.EdgePoint, failed)
	put(trace.EdgePoint, claim(trace.ClaimUnprepared, "a", "gpu", unprepare, 1))
	put(trace.EdgePoint, claim(trace.ClaimUnprepared, "a", "gpu", unprepare, 1))
	put(trace.EdgePoint, claim(trace.ClaimUnprepared, "z", "gpu", unprepare, 1)) // prepared by an earlier agent
	skipped := claim(trace.ClaimSkipped, "a", "nic", "NodePrepareResources", 0)
	put(trace.EdgePoint, skipped)
	put(trace.EdgePoint, claim(trace.ClaimSkipped, "a", "nic", "NodeUnprepareResources", 0))
	put(trace.EdgePoint, skipped)
	put(trace.EdgeEnd, &trace.Action{Verb: trace.VerbClaims})
	put(trace.EdgeEnd, &trace.Action{Verb: trace.VerbReleaseClaims, Err: "broken"})
	got := ours(t, reg)
	for _, line := range []string{
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"} 2`,
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="Unavailable",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"} 1`,
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"} 3`,
		`dra_operations_duration_seconds_sum{is_error="false",operation_name="PrepareResources"} 2`,
		`dra_operations_duration_seconds_sum{is_error="true",operation_name="UnprepareResources"} 2`,
		`dra_node_prepare_skips_total{driver_name="nic"} 2`,
		`dra_node_unprepare_skips_total{driver_name="nic"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

// Claims are in use when all their drivers have prepared them, until all have unprepared them. Drivers without claims have no line.
func TestClaimsInUse(t *testing.T) {
	s, reg := newSink(t)
	is := func(name string, state trace.ClaimState, drivers ...string) {
		s.Apply(&trace.Record{Event: &trace.ClaimDescribed{Namespace: "ns", Name: name, State: state, Drivers: drivers}})
	}
	want := func(when string, lines ...string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(ours(t, reg)) {
			if text, ok := strings.CutPrefix(line, "dra_resource_claims_in_use"); ok {
				got = append(got, strings.TrimSpace(text))
			}
		}
		if d := cmp.Diff(lines, got); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	want("without claims", `{driver_name="<any>"} 0`)
	is("old", trace.ClaimRestored, "gpu")
	want("after the start", `{driver_name="<any>"} 0`)
	is("a", trace.ClaimPreparing, "gpu", "nic")
	is("a", trace.ClaimReady, "gpu", "nic")
	is("b", trace.ClaimReady, "gpu")
	is("b", trace.ClaimReady, "gpu") // for another pod
	want("two are prepared", `{driver_name="<any>"} 2`, `{driver_name="gpu"} 2`, `{driver_name="nic"} 1`)
	is("c", trace.ClaimFailed, "gpu")
	is("a", trace.ClaimUnpreparing, "gpu", "nic")
	is("a", trace.ClaimStuck, "gpu", "nic")
	is("old", trace.ClaimUnpreparing, "gpu")
	want("one is being unprepared", `{driver_name="<any>"} 2`, `{driver_name="gpu"} 2`, `{driver_name="nic"} 1`)
	is("a", trace.ClaimGone)
	is("old", trace.ClaimGone)
	want("it is gone", `{driver_name="<any>"} 1`, `{driver_name="gpu"} 1`)
}
