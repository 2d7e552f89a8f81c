package dra

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// reconcilePeriod is how often claims of pods that are gone are looked for. Upstream: pkg/kubelet/cm/dra/manager.go.
	reconcilePeriod = 60 * time.Second
	// reconcileAtOnce is for how many pods claims are unprepared at the same time.
	reconcileAtOnce = 8
)

// Run follows the drivers and unprepares what pods that are gone have left, until ctx ends. It returns nil then.
func (m *Manager) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer cancel()
	under.Go(func() { m.reconcileAll(ctx) })
	if m.cfg.HealthChanged != nil {
		under.Go(func() { m.expireHealth(ctx) })
	}
	return m.drivers.Run(ctx)
}

func (m *Manager) reconcileAll(ctx context.Context) {
	tick := time.NewTicker(reconcilePeriod)
	defer tick.Stop()
	for {
		m.reconcile(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.nudge:
		}
	}
}

// reconcileSoon does not wait for the next tick.
func (m *Manager) reconcileSoon() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}

// reconcile unprepares the claims of pods that are gone: an agent was killed before it had, or a pod was deleted by force.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, reconcileLoop.
func (m *Manager) reconcile(ctx context.Context) {
	if !m.cfg.Complete() {
		return
	}
	left := m.users() // before the pods: one that is added meanwhile is not in it
	for _, pod := range m.cfg.Active() {
		delete(left, pod.UID)
	}
	var g errgroup.Group
	g.SetLimit(reconcileAtOnce)
	for uid := range left {
		g.Go(func() error {
			if err := m.Unprepare(ctx, uid); err != nil && ctx.Err() == nil {
				trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
					Level: trace.LevelWarn, Message: "ResourceClaims of a pod that is gone could not be unprepared: they are tried again every minute",
					Attrs: []trace.KV{{K: "pod", V: string(uid)}, {K: "error", V: err.Error()}},
				})
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return no error
}

// users returns the pods that use claims.
func (m *Manager) users() map[types.UID]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[types.UID]bool{}
	for _, c := range m.claims {
		for uid := range c.PodUIDs {
			out[types.UID(uid)] = true
		}
	}
	return out
}
