package dra

import (
	"context"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
)

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

// tryAttach changes no claim if it returns an error, or a claim that is busy.
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
		case c.unpreparing:
			m.blocked[pod] = w.key() // with the lock: unblock comes later
			m.reconcileSoon()
			return nil, key, &Error{
				Fault: trace.FaultUnpreparing, Namespace: w.namespace, Name: w.name, UID: string(w.uid),
				Err: fmt.Errorf("ResourceClaim %s is being unprepared", w.name),
			}
		}
	}
	for _, w := range all {
		m.admit(w.key())
		if c := m.attachOne(ctx, pod, w); !c.prepared && c.busy == nil {
			c.busy = make(chan struct{})
			m.become(c, trace.ClaimPreparing, nil)
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
		m.touched[c.key()] = true
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
