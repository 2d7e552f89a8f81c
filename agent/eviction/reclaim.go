package eviction

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// reclaimLimit is how long a round waits for removals. They call the runtime, and a hung CNI plugin or shim holds them up; meanwhile the
// node may run out of something else.
const reclaimLimit = 30 * time.Second

// reclaimed is what removals did.
type reclaimed struct {
	containers, images int
	freed              int64
	err                error
}

var errRemoving = errors.New("the removal of unused containers and images has not ended")

// reclaim removes containers and images that no pod uses, as far as that helps a threshold's signal. It reports whether there is enough
// of everything afterwards.
func (m *Manager) reclaim(ctx context.Context, t *Threshold, e *trace.Eviction) bool {
	what := m.layout.reclaim(t.Signal)
	if what == (reclaim{}) {
		return false
	}
	got := m.remove(ctx, what)
	e.Containers, e.Images, e.Freed = got.containers, got.images, got.freed
	if got.err != nil {
		e.Err = got.err.Error()
	}
	now, err := m.cfg.Measure(ctx)
	if err != nil {
		return false
	}
	after := observe(&now)
	return !slices.ContainsFunc(m.thresholds, func(t Threshold) bool { return after.below(&t, true) })
}

// remove starts removals and waits for them, at most reclaimLimit. Removals that take longer go on; until they have ended, there are no
// others.
func (m *Manager) remove(ctx context.Context, what reclaim) reclaimed {
	if m.removing == nil {
		m.removing = make(chan reclaimed, 1)
		go func(done chan<- reclaimed) { done <- m.removeAll(ctx, what) }(m.removing)
	}
	timer := time.NewTimer(reclaimLimit)
	defer timer.Stop()
	select {
	case got := <-m.removing:
		m.removing = nil
		return got
	case <-timer.C:
		return reclaimed{err: errRemoving}
	case <-ctx.Done():
		return reclaimed{err: ctx.Err()}
	}
}

func (m *Manager) removeAll(ctx context.Context, what reclaim) (out reclaimed) {
	var errs [2]error
	if what.containers {
		out.containers, out.freed, errs[0] = m.cfg.Reclaimer.Containers(ctx)
	}
	if what.images {
		n, freed, err := m.cfg.Reclaimer.Images(ctx)
		out.images, out.freed, errs[1] = n, out.freed+freed, err
	}
	out.err = errors.Join(errs[:]...)
	return out
}
