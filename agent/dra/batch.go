package dra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/dra/driver"
	"github.com/kubeloupe/kubeloupe/trace"
)

// batch is a call of a driver about some claims.
type batch struct {
	driver  string
	claims  []*claim
	release bool // the claims are unprepared
}

// outcome is the result of a call, for each of its claims.
type outcome struct {
	method string // "" if it was not called
	code   string // the gRPC status of a call that failed
	took   time.Duration
	each   map[*claim]result
}

// result is what a driver answered about a claim, or why it could not.
type result struct {
	got any
	err *Error
}

// batches returns the calls for an operation on busy claims, by the driver's name.
func batches(all []*claim, op resourceapi.SkipNodeOperation) []*batch {
	by := map[string]*batch{}
	for _, c := range all {
		for _, name := range driversFor(c.DriverState, op) {
			if by[name] == nil {
				by[name] = &batch{driver: name, release: op == resourceapi.SkipNodeOperationNodeUnprepareResources}
			}
			by[name].claims = append(by[name].claims, c)
		}
	}
	out := make([]*batch, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out
}

func (b *batch) request() (out []*drapb.Claim) {
	for _, c := range b.claims {
		out = append(out, &drapb.Claim{Namespace: c.Namespace, Name: c.ClaimName, Uid: string(c.ClaimUID)})
	}
	return out
}

// problem is why the driver did not do its work for a claim.
func (b *batch) problem(c *claim, fault trace.ClaimFault, err error) result {
	return result{err: &Error{Fault: fault, Namespace: c.Namespace, Name: c.ClaimName, UID: string(c.ClaimUID), Driver: b.driver, Err: err}}
}

// failure is the outcome of a call that was not made.
func failure(b *batch, fault trace.ClaimFault, err error) outcome {
	return outcome{each: map[*claim]result{}}.fail(b, fault, err)
}

// broke is the outcome of a call that ended with an error of gRPC. A driver's own error has the status Unknown.
func (o outcome) broke(b *batch, call string, err error) outcome {
	o.code = driver.Code(err).String()
	return o.fail(b, callFault(err), fmt.Errorf("%s: %w", call, err))
}

// fail is the outcome of a call that failed for all claims.
func (o outcome) fail(b *batch, fault trace.ClaimFault, err error) outcome {
	for _, c := range b.claims {
		r := b.problem(c, fault, err)
		r.err.Code = o.code
		o.each[c] = r
	}
	return o
}

// callFault returns the fault of a call's error.
func callFault(err error) trace.ClaimFault {
	if driver.Code(err) == codes.DeadlineExceeded {
		return trace.FaultDriverTimeout
	}
	return trace.FaultDriverFailed
}

// unknown returns a claim in a driver's answer that it was not asked about.
func unknown[T any](b *batch, answers map[string]T) (uid string, ok bool) {
	for _, uid := range slices.Sorted(maps.Keys(answers)) {
		if !slices.ContainsFunc(b.claims, func(c *claim) bool { return string(c.ClaimUID) == uid }) {
			return uid, true
		}
	}
	return "", false
}

// callAll makes calls at the same time, and publishes what became of the claims. keep is called with mu, for each claim of each call; it may
// refuse a result. callAll returns the first error, in the order of the calls.
func (m *Manager) callAll(ctx context.Context, calls []*batch, call func(*batch) outcome, keep func(b *batch, c *claim, r result) result) error {
	outcomes := make([]outcome, len(calls))
	var under sync.WaitGroup
	for i, b := range calls {
		under.Go(func() {
			wait := trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: b.driver}, Limit: driver.Timeout}
			span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
			outcomes[i] = call(b)
			trace.End(m.cfg.Bus, span, wait)
		})
	}
	under.Wait()
	var first error
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range calls {
		for n, c := range b.claims {
			r, answered := outcomes[i].each[c]
			if !answered {
				r = b.problem(c, trace.FaultDriverAnswer, errors.New("the answer has nothing about the claim"))
			}
			r = keep(b, c, r)
			ev := trace.ResourceClaim{Driver: b.driver, Method: outcomes[i].method, Took: outcomes[i].took}
			if n == 0 {
				ev.Batch = len(b.claims)
			}
			m.sayResult(ctx, b, c, r, ev)
			if r.err != nil && first == nil {
				first = r.err
			}
		}
	}
	if first != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return first
}

// sayResult publishes the result of a call for a claim.
func (m *Manager) sayResult(ctx context.Context, b *batch, c *claim, r result, ev trace.ResourceClaim) {
	if r.err != nil && ctx.Err() != nil {
		return // the pod need not wait for it any more; the driver is not to blame
	}
	ev.Op = trace.ClaimPrepared
	switch {
	case r.err != nil && b.release:
		ev.Op = trace.ClaimNotReleased
	case r.err != nil:
		ev.Op = trace.ClaimNotPrepared
	case b.release:
		ev.Op = trace.ClaimUnprepared
	}
	if r.err != nil {
		ev.Fault, ev.Code, ev.Err = r.err.Fault, r.err.Code, r.err.Error()
	}
	if devices, ok := r.got.([]checkpoint.Device); ok {
		ev.Count = len(devices)
		for _, d := range devices[:min(len(devices), shownDevices)] {
			ev.Devices = append(ev.Devices, driver.Clip(d.PoolName+"/"+d.DeviceName))
		}
	}
	m.say(ctx, c, ev)
}

// shownDevices is how many devices an event has at most.
const shownDevices = 16

// say publishes an event about a claim.
func (m *Manager) say(ctx context.Context, c *claim, ev trace.ResourceClaim) {
	ev.Namespace, ev.Name, ev.UID = c.Namespace, c.ClaimName, string(c.ClaimUID)
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), ev)
}

// saySkipped publishes which drivers need not be called for an operation.
func (m *Manager) saySkipped(ctx context.Context, all []*claim, op resourceapi.SkipNodeOperation) {
	for _, c := range all {
		for _, name := range slices.Sorted(maps.Keys(c.DriverState)) {
			if skips(c.DriverState[name], op) {
				m.say(ctx, c, trace.ResourceClaim{Op: trace.ClaimSkipped, Driver: name, Method: string(op)})
			}
		}
	}
}

// refused publishes that a pod cannot use a claim for which no driver was called.
func (m *Manager) refused(ctx context.Context, pod types.UID, err error) {
	if e, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil {
		m.refuse(pod, e)
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.ResourceClaim{
			Op: trace.ClaimNotPrepared, Namespace: e.Namespace, Name: e.Name, UID: e.UID, Driver: e.Driver, Fault: e.Fault, Err: e.Error(),
		})
	}
}
