package dra

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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
	all, err := m.fetch(ctx, pod)
	if err != nil {
		m.refused(ctx, err)
		return err
	}
	todo, err := m.attach(ctx, pod.UID, all)
	if err != nil {
		m.refused(ctx, err)
		return err
	}
	if err := m.save(); err != nil {
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

// attach records that a pod uses claims, and returns those that must be prepared, which are busy then. It waits while drivers are called
// about one of them.
func (m *Manager) attach(ctx context.Context, pod types.UID, all []*wanted) (todo []*claim, err error) {
	for {
		busy, key, err := m.tryAttach(ctx, pod, all, &todo)
		if err != nil || busy == nil {
			return todo, err
		}
		if err := m.awaitBusy(ctx, busy, key); err != nil {
			return nil, err
		}
	}
}

// tryAttach changes nothing if it returns an error, or a claim that is busy.
func (m *Manager) tryAttach(ctx context.Context, pod types.UID, all []*wanted, todo *[]*claim) (busy <-chan struct{}, key types.NamespacedName, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range all {
		c := m.claims[w.key()]
		switch {
		case c == nil:
		case c.busy != nil:
			return c.busy, w.key(), nil
		case c.ClaimUID != w.uid:
			m.reconcileSoon()
			return nil, key, &Error{
				Fault: trace.FaultReplaced, Namespace: w.namespace, Name: w.name, UID: string(w.uid),
				Err: fmt.Errorf("old ResourceClaim with same name %s and different UID %s still exists (previous pod force-deleted?!)", w.name, c.ClaimUID),
			}
		}
	}
	for _, w := range all {
		if c := m.attachOne(ctx, pod, w); !c.prepared && c.busy == nil {
			c.busy = make(chan struct{})
			*todo = append(*todo, c)
		}
	}
	return nil, key, nil
}

// attachOne records that a pod uses a claim. Called with mu.
func (m *Manager) attachOne(ctx context.Context, pod types.UID, w *wanted) *claim {
	c := m.claims[w.key()]
	if c == nil {
		c = &claim{Claim: checkpoint.Claim{
			ClaimUID: w.uid, ClaimName: w.name, Namespace: w.namespace, PodUIDs: sets.New[string](), DriverState: w.drivers,
		}}
		m.claims[w.key()] = c
		m.changes++
	}
	if !c.PodUIDs.Has(string(pod)) {
		c.PodUIDs.Insert(string(pod))
		m.changes++
		if c.prepared {
			m.say(ctx, c, trace.ResourceClaim{Op: trace.ClaimShared})
		}
	}
	if c.prepared {
		return c
	}
	for name, d := range c.DriverState {
		if _, still := w.drivers[name]; !still { // of an earlier allocation: it is still to be unprepared
			c.DriverState[name] = checkpoint.Driver{SkipNodeOperations: []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationNodePrepareResources}}
			m.changes++
		} else if !slices.Equal(d.SkipNodeOperations, w.drivers[name].SkipNodeOperations) {
			c.DriverState[name] = checkpoint.Driver{Devices: d.Devices, SkipNodeOperations: w.drivers[name].SkipNodeOperations}
			m.changes++
		}
	}
	for name, d := range w.drivers {
		if _, known := c.DriverState[name]; !known {
			c.DriverState[name] = d
			m.changes++
		}
	}
	return c
}

// awaitBusy waits until the calls about a claim have ended.
func (m *Manager) awaitBusy(ctx context.Context, busy <-chan struct{}, key types.NamespacedName) error {
	wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetResourceClaim, Namespace: key.Namespace, Name: key.Name}}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(m.cfg.Bus, span, wait) }()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release says that the calls about claims have ended.
func (m *Manager) release(all []*claim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range all {
		close(c.busy)
		c.busy = nil
	}
}

// callPrepare calls the drivers of busy claims, all at the same time, and keeps their answers. It returns the first error, by the
// driver's name.
func (m *Manager) callPrepare(ctx context.Context, todo []*claim) error {
	calls := batches(todo, resourceapi.SkipNodeOperationNodePrepareResources)
	failed := map[*claim]bool{}
	err := m.callAll(ctx, calls, func(b *batch) outcome {
		p, err := m.drivers.Get(b.driver)
		if err != nil {
			return failure(b, trace.FaultDriverMissing, err)
		}
		return m.prepareBatch(ctx, p, b)
	}, func(c *claim, driver string, got any) {
		if devices, ok := got.([]checkpoint.Device); ok {
			d := c.DriverState[driver]
			c.DriverState[driver] = checkpoint.Driver{Devices: devices, SkipNodeOperations: d.SkipNodeOperations}
			m.changes++
		} else {
			failed[c] = true
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range todo {
		c.prepared = !failed[c]
	}
	return err
}

// prepareBatch calls one driver about its claims.
func (m *Manager) prepareBatch(ctx context.Context, p *driver.Plugin, b *batch) outcome {
	began := time.Now()
	answers, err := p.Prepare(ctx, b.request())
	out := outcome{method: p.Service + "/NodePrepareResources", took: time.Since(began), each: map[*claim]result{}}
	if err != nil {
		return out.fail(b, callFault(err), fmt.Errorf("NodePrepareResources: %w", err))
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
