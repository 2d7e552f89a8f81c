package dra

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
)

// clone returns a copy that shares nothing that changes: what drivers answered is replaced, and never changed.
func clone(c *checkpoint.Claim) checkpoint.Claim {
	out := *c
	out.PodUIDs, out.DriverState = maps.Clone(c.PodUIDs), maps.Clone(c.DriverState)
	return out
}

func byName(a, b *checkpoint.Claim) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ClaimName, b.ClaimName))
}

// skips reports whether a driver need not be called for an operation.
func skips(d checkpoint.Driver, op resourceapi.SkipNodeOperation) bool {
	return slices.Contains(d.SkipNodeOperations, resourceapi.SkipNodeOperationAll) || slices.Contains(d.SkipNodeOperations, op)
}

// driversFor returns the drivers that are called for an operation, sorted.
func driversFor(all map[string]checkpoint.Driver, op resourceapi.SkipNodeOperation) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !skips(all[name], op) {
			out = append(out, name)
		}
	}
	return out
}

// allocated returns the drivers that have devices of a claim, from its allocation. An operation is skipped if all devices of the driver
// say so.
//
// Upstream: pkg/kubelet/cm/dra/claiminfo.go, computeDriverStates.
func allocated(c *resourceapi.ResourceClaim) map[string]checkpoint.Driver {
	devices, skipped := map[string]int{}, map[string]map[resourceapi.SkipNodeOperation]int{}
	for _, r := range c.Status.Allocation.Devices.Results {
		devices[r.Driver]++
		if skipped[r.Driver] == nil {
			skipped[r.Driver] = map[resourceapi.SkipNodeOperation]int{}
		}
		if slices.Contains(r.SkipNodeOperations, resourceapi.SkipNodeOperationAll) {
			skipped[r.Driver][resourceapi.SkipNodeOperationAll]++
			continue
		}
		for _, op := range r.SkipNodeOperations {
			skipped[r.Driver][op]++
		}
	}
	out := make(map[string]checkpoint.Driver, len(devices))
	for name, n := range devices {
		var d checkpoint.Driver
		every := skipped[name][resourceapi.SkipNodeOperationAll]
		if every == n {
			d.SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
		} else {
			for op, some := range skipped[name] {
				if op != resourceapi.SkipNodeOperationAll && some+every == n {
					d.SkipNodeOperations = append(d.SkipNodeOperations, op)
				}
			}
			slices.Sort(d.SkipNodeOperations)
		}
		out[name] = d
	}
	return out
}

// Error is why a pod's claims could not be prepared or unprepared. Its text is upstream's.
type Error struct {
	Fault trace.ClaimFault
	// Namespace, Name and UID are the claim's; empty if it is about no claim alone.
	Namespace, Name, UID string
	// Driver is the driver that is missing or failed.
	Driver string
	// Code is the gRPC status of its call.
	Code string
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Wait returns what a pod waits for because of the error.
func (e *Error) Wait() trace.Wait {
	w := trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetResourceClaim, Namespace: e.Namespace, Name: e.Name}}
	switch {
	case e.Driver != "":
		w.Target = trace.Target{Kind: trace.TargetDRADriver, Name: e.Driver}
	case e.Name == "":
		w.For, w.Target = trace.WaitBackoff, trace.Target{Kind: trace.TargetRetry}
	}
	return w.WithCause(e.Err.Error())
}
