package dra

import (
	"context"
	"slices"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// reconcilePeriod is how often claims of pods that are gone are looked for. Upstream: pkg/kubelet/cm/dra/manager.go.
const reconcilePeriod = 60 * time.Second

// Run follows the drivers and unprepares what pods that are gone have left, until ctx ends. It returns nil then.
func (m *Manager) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer cancel()
	under.Go(func() { m.reconcileAll(ctx) })
	under.Go(func() { m.describeLater(ctx) })
	if m.cfg.HealthChanged != nil {
		under.Go(func() { m.expireHealth(ctx) })
		under.Go(func() { m.saveHealth(ctx) })
	}
	return m.drivers.Run(ctx)
}

// reconcileAll unprepares the claims of pods that are gone: an agent was killed before it had, or a pod was deleted by force.
//
// Upstream: pkg/kubelet/cm/dra/manager.go, reconcileLoop.
func (m *Manager) reconcileAll(ctx context.Context) {
	r := newReleases(m.releaseGone)
	defer r.under.Wait()
	tick := time.NewTicker(reconcilePeriod)
	defer tick.Stop()
	for {
		if m.cfg.Complete() {
			r.want(ctx, m.goneUsers())
			m.describe()
		}
	waiting:
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				break waiting
			case <-m.nudge:
				break waiting
			case what := <-r.ended:
				r.handle(ctx, what)
			}
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

// goneUsers returns the pods that use claims and that the node does not have any more, with the drivers that unprepare their claims.
func (m *Manager) goneUsers() map[types.UID][]string {
	left, stuck, active := m.users(), m.stuck(), map[types.UID]bool{} // those before the pods: a pod that is added meanwhile is not in left
	for _, pod := range m.cfg.Active() {
		delete(left, pod.UID)
		active[pod.UID] = true
	}
	m.dropRefusals(func(uid types.UID) bool { return stuck[uid] && !active[uid] })
	return left
}

// stuck returns the pods that could not use a claim, or wait for a driver or a claim.
func (m *Manager) stuck() map[types.UID]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[types.UID]bool{}
	for uid := range m.waiting {
		out[uid] = true
	}
	for uid := range m.blocked {
		out[uid] = true
	}
	for _, r := range m.refusals {
		out[r.pod] = true
	}
	return out
}

// users returns the pods that use claims, with the drivers that unprepare these.
func (m *Manager) users() map[types.UID][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[types.UID][]string{}
	for _, c := range m.claims {
		drivers := driversFor(c.DriverState, resourceapi.SkipNodeOperationNodeUnprepareResources)
		for uid := range c.PodUIDs {
			out[types.UID(uid)] = append(out[types.UID(uid)], drivers...)
		}
	}
	for uid, drivers := range out {
		slices.Sort(drivers)
		out[uid] = slices.Compact(drivers)
	}
	return out
}

// releaseGone unprepares the claims of a pod that is gone.
func (m *Manager) releaseGone(ctx context.Context, pod types.UID, done func(driver string)) {
	if err := m.unprepareAll(ctx, pod, done); err != nil && ctx.Err() == nil {
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
			Level: trace.LevelWarn, Message: "ResourceClaims of a pod that is gone could not be unprepared: they are tried again every minute",
			Attrs: []trace.KV{{K: "pod", V: string(pod)}, {K: "error", V: err.Error()}},
		})
	}
}
