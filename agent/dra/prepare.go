package dra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/dra/driver"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Prepare has drivers prepare the claims of a pod that are not prepared yet. Call it before each sandbox of the pod is created. It waits for
// the API server and for drivers, at most 30 s and 45 s for each call; nothing is locked meanwhile. An error is an [*Error], wrapped; the
// pod cannot start, and a later call tries again.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, PrepareResources.
func (m *Manager) Prepare(ctx context.Context, pod *v1.Pod) error {
	if pod = m.newest(pod); !uses(pod) {
		return nil
	}
	err := m.prepare(ctx, pod)
	m.waits(pod.UID, err)
	if err != nil {
		return fmt.Errorf("prepare dynamic resources: %w", err)
	}
	return nil
}

func (m *Manager) prepare(ctx context.Context, pod *v1.Pod) error {
	defer m.describe()
	all, err := m.fetch(ctx, pod)
	if err != nil {
		m.refused(ctx, pod.UID, err)
		return err
	}
	todo, err := m.attach(ctx, pod.UID, all)
	if err != nil {
		m.refused(ctx, pod.UID, err)
		return err
	}
	m.describe()
	if err := m.save(); err != nil {
		m.unsavedClaims(todo, err)
		m.release(todo)
		return err
	}
	if len(todo) == 0 {
		return nil
	}
	err = m.callPrepare(ctx, todo)
	m.release(todo)
	if saved := m.save(); err == nil {
		err = saved
	}
	return err
}

// unsavedClaims records that claims were not prepared because the state file could not be written.
func (m *Manager) unsavedClaims(all []*claim, err error) {
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		failure = &Error{Fault: trace.FaultState, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range all {
		m.become(c, trace.ClaimFailed, failure)
	}
}

// reason returns why a driver did not do its work: a call that was canceled is not the driver's failure.
func reason(ctx context.Context, err *Error) *Error {
	if ctx.Err() != nil {
		return &Error{Err: context.Cause(ctx)}
	}
	return err
}

// callPrepare calls the drivers of busy claims, all at the same time, and keeps their answers. It returns the first error, by the
// driver's name.
func (m *Manager) callPrepare(ctx context.Context, todo []*claim) error {
	calls := batches(todo, resourceapi.SkipNodeOperationNodePrepareResources)
	m.saySkipped(ctx, todo, resourceapi.SkipNodeOperationNodePrepareResources)
	failed := map[*claim]*Error{}
	err := m.callAll(ctx, calls, func(b *batch) outcome {
		p, err := m.drivers.Get(b.driver)
		if err != nil {
			return failure(b, trace.FaultDriverMissing, err)
		}
		return m.prepareBatch(ctx, p, b)
	}, func(b *batch, c *claim, r result) result {
		devices, ok := r.got.([]checkpoint.Device)
		if n := m.kept(b.driver, c) + checkpoint.Size(devices); ok && n > maxKept {
			r = b.problem(c, trace.FaultDriverAnswer, fmt.Errorf("NodePrepareResources failed for ResourceClaim %s: "+
				"the devices of driver %s need %d bytes in the state file, more than the limit of %d", c.ClaimName, b.driver, n, maxKept))
		}
		if r.err != nil {
			failed[c] = cmp.Or(failed[c], reason(ctx, r.err))
			return r
		}
		d := c.DriverState[b.driver]
		c.DriverState[b.driver] = checkpoint.Driver{Devices: devices, SkipNodeOperations: d.SkipNodeOperations}
		m.changes++
		return r
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range todo {
		if c.prepared = failed[c] == nil; c.prepared {
			m.become(c, trace.ClaimReady, nil)
		} else {
			m.become(c, trace.ClaimFailed, failed[c])
		}
	}
	return err
}

// prepareBatch calls one driver about its claims.
func (m *Manager) prepareBatch(ctx context.Context, p *driver.Plugin, b *batch) outcome {
	began := time.Now()
	answers, err := p.Prepare(ctx, b.request())
	out := outcome{method: p.Service + "/NodePrepareResources", took: time.Since(began), each: map[*claim]result{}}
	if err != nil {
		return out.broke(b, "NodePrepareResources", err)
	}
	if uid, ok := unknown(b, answers); ok {
		return out.fail(b, trace.FaultDriverAnswer, fmt.Errorf("NodePrepareResources returned result for unknown claim UID %s", driver.Clip(uid)))
	}
	for _, c := range b.claims {
		a, there := answers[string(c.ClaimUID)]
		switch {
		case !there:
			out.each[c] = b.problem(c, trace.FaultDriverAnswer, fmt.Errorf("NodePrepareResources skipped %d ResourceClaims", len(b.claims)-len(answers)))
		case a.GetError() != "":
			out.each[c] = b.problem(c, trace.FaultDriverFailed, fmt.Errorf("NodePrepareResources failed for ResourceClaim %s: %s", c.ClaimName, driver.Clip(a.GetError())))
		default:
			devices, err := devicesOf(a)
			if err != nil {
				out.each[c] = b.problem(c, trace.FaultDriverAnswer, fmt.Errorf("NodePrepareResources failed for ResourceClaim %s: %w", c.ClaimName, err))
				continue
			}
			out.each[c] = result{got: devices}
		}
	}
	return out
}

// maxAnswer limits what a driver answers about one claim, in bytes: it is part of the state file and of the containers' requests.
const maxAnswer = 1 << 20

// maxKept limits what the devices of one driver need in the state file, in bytes: an eighth of the file, so that a driver with large answers
// leaves room for others.
const maxKept = 8 << 20

// kept returns what the devices of a driver need in the state file, without those of one claim. Called with mu.
func (m *Manager) kept(driver string, but *claim) (n int) {
	for _, c := range m.claims {
		if c != but {
			n += checkpoint.Size(c.DriverState[driver].Devices)
		}
	}
	return n
}

// devicesOf returns the devices in an answer.
func devicesOf(a *drapb.NodePrepareResourceResponse) ([]checkpoint.Device, error) {
	out := []checkpoint.Device{}
	size := 0
	for _, d := range a.GetDevices() {
		one := checkpoint.Device{
			PoolName: d.GetPoolName(), DeviceName: d.GetDeviceName(), ShareID: (*types.UID)(d.ShareId), RequestNames: d.GetRequestNames(), CDIDeviceIDs: d.GetCdiDeviceIds(),
		}
		size += len(one.PoolName) + len(one.DeviceName) + len(d.GetShareId()) + perDevice
		for _, s := range slices.Concat(one.RequestNames, one.CDIDeviceIDs) {
			size += len(s) + perText
		}
		out = append(out, one)
	}
	if size > maxAnswer {
		return nil, fmt.Errorf("the driver's answer has about %d bytes, want %d at most", size, maxAnswer)
	}
	return out, nil
}

// perDevice and perText are about what a device and a text need in the state file besides their names, in bytes.
const (
	perDevice = 100
	perText   = 8
)
