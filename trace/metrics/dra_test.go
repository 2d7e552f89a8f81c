package metrics

import (
	"strings"
	"testing"
	"time"

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
	put(trace.EdgeEnd, &trace.Action{Verb: trace.VerbClaims})
	put(trace.EdgeEnd, &trace.Action{Verb: trace.VerbReleaseClaims, Err: "broken"})
	got := ours(t, reg)
	for _, line := range []string{
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="OK",method_name="/v1.DRAPlugin/NodePrepareResources"} 2`,
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="Unavailable",method_name="/v1.DRAPlugin/NodePrepareResources"} 1`,
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="OK",method_name="/v1.DRAPlugin/NodeUnprepareResources"} 3`,
		`dra_operations_duration_seconds_sum{is_error="false",operation_name="PrepareResources"} 2`,
		`dra_operations_duration_seconds_sum{is_error="true",operation_name="UnprepareResources"} 2`,
		`dra_resource_claims_in_use{driver_name="<any>"} 2`,
		`dra_resource_claims_in_use{driver_name="gpu"} 1`,
		`dra_resource_claims_in_use{driver_name="nic"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}
