package dra

import (
	"cmp"
	"context"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/dra/driver"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Unprepare has drivers unprepare the claims of a pod that no other pod of the node uses. Call it when nothing of the pod runs any more,
// before its final status is written. Repeated calls do only what is left. It waits for drivers like [Manager.Prepare]; an error is an
// [*Error], wrapped, and a later call tries again.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, UnprepareResources.
func (m *Manager) Unprepare(ctx context.Context, pod types.UID) error {
	return m.unprepareAll(ctx, pod, func(string) {})
}

// unprepareAll is Unprepare. It calls done after each call of a driver.
func (m *Manager) unprepareAll(ctx context.Context, pod types.UID, done func(driver string)) error {
	m.dropRefusals(func(uid types.UID) bool { return uid == pod })
	err := m.unprepare(ctx, pod, done)
	m.describe()
	m.waits(pod, err)
	if err != nil {
		return fmt.Errorf("unprepare dynamic resources: %w", err)
	}
	return nil
}

// Held reports whether Unprepare has something to do for a pod.
func (m *Manager) Held(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaved[pod] > 0 {
		return true
	}
	for _, c := range m.claims {
		if c.PodUIDs.Has(string(pod)) {
			return true
		}
	}
	return false
}

func (m *Manager) unprepare(ctx context.Context, pod types.UID, done func(driver string)) error {
	todo, err := m.detach(ctx, pod)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		m.describe()
		err = m.callUnprepare(ctx, pod, todo, done)
		m.release(todo)
		m.unblock()
	}
	if !m.isUnsaved(pod) { // the state file is not about this pod
		return err
	}
	if saved := m.save(); err == nil {
		err = saved
	}
	return err
}

func (m *Manager) isUnsaved(pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsaved[pod] > 0
}

// gave records that a pod has given back a claim. Called with mu.
func (m *Manager) gave(pod types.UID) {
	m.changes++
	m.unsaved[pod] = m.changes
}

// detach removes a pod from the claims that others use, and returns those that must be unprepared, which are busy then. It waits while
// drivers are called about one of them.
func (m *Manager) detach(ctx context.Context, pod types.UID) ([]*claim, error) {
	for {
		todo, busy, key := m.tryDetach(ctx, pod)
		if busy == nil {
			return todo, nil
		}
		if err := m.awaitBusy(ctx, busy, key); err != nil {
			return nil, err
		}
	}
}

func (m *Manager) tryDetach(ctx context.Context, pod types.UID) (todo []*claim, busy <-chan struct{}, key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var mine []*claim
	for key, c := range m.claims {
		if !c.PodUIDs.Has(string(pod)) {
			continue
		}
		if c.busy != nil {
			return nil, c.busy, key
		}
		mine = append(mine, c)
	}
	for _, c := range mine {
		if len(c.PodUIDs) > 1 {
			c.PodUIDs.Delete(string(pod))
			m.touched[c.key()] = true
			m.gave(pod)
			m.say(ctx, c, trace.ResourceClaim{Op: trace.ClaimStillInUse})
			continue
		}
		c.busy, c.unpreparing = make(chan struct{}), true
		m.become(c, trace.ClaimUnpreparing, nil)
		todo = append(todo, c)
	}
	return todo, nil, key
}

// callUnprepare calls the drivers of a pod's busy claims, all at the same time, and forgets the claims that all their drivers have unprepared. It
// returns the first error, by the driver's name.
func (m *Manager) callUnprepare(ctx context.Context, pod types.UID, todo []*claim, done func(driver string)) error {
	m.saySkipped(ctx, todo, resourceapi.SkipNodeOperationNodeUnprepareResources)
	calls := batches(todo, resourceapi.SkipNodeOperationNodeUnprepareResources)
	failed := map[*claim]*Error{}
	err := m.callAll(ctx, calls, func(b *batch) outcome {
		defer done(b.driver)
		p, err := m.drivers.Get(b.driver)
		if err != nil {
			return failure(b, trace.FaultDriverMissing, err)
		}
		return unprepareBatch(ctx, p, b)
	}, func(_ *batch, c *claim, r result) result {
		if r.got == nil {
			failed[c] = cmp.Or(failed[c], reason(ctx, r.err))
		}
		return r
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range todo {
		c.prepared = false // a driver may have unprepared it
		if failed[c] != nil {
			m.become(c, trace.ClaimStuck, failed[c])
			continue
		}
		delete(m.claims, c.key())
		m.touched[c.key()] = true
		m.gave(pod)
	}
	return err
}

// unprepareBatch calls one driver about its claims.
func unprepareBatch(ctx context.Context, p *driver.Plugin, b *batch) outcome {
	began := time.Now()
	answers, err := p.Unprepare(ctx, b.request())
	out := outcome{method: p.Service + "/NodeUnprepareResources", took: time.Since(began), each: map[*claim]result{}}
	if err != nil {
		return out.broke(b, "NodeUnprepareResources", err)
	}
	if uid, ok := unknown(b, answers); ok {
		return out.fail(b, trace.FaultDriverAnswer, fmt.Errorf("NodeUnprepareResources returned result for unknown claim UID %s", driver.Clip(uid)))
	}
	for _, c := range b.claims {
		a, there := answers[string(c.ClaimUID)]
		switch {
		case !there:
			out.each[c] = b.problem(c, trace.FaultDriverAnswer, fmt.Errorf("NodeUnprepareResources skipped %d ResourceClaims", len(b.claims)-len(answers)))
		case a.GetError() != "":
			out.each[c] = b.problem(c, trace.FaultDriverFailed, fmt.Errorf("NodeUnprepareResources failed for ResourceClaim %s: %s", c.ClaimName, driver.Clip(a.GetError())))
		default:
			out.each[c] = result{got: true}
		}
	}
	return out
}
