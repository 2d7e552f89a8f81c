package eviction

import (
	"context"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// nearShare is the part of the capacity that counts as little more than a threshold, from which the node is measured often;
	// foreseeShare, from which the ranking is measured, too, which costs more.
	nearShare, foreseeShare = 10, 20
	// foreseePeriod is how often the ranking is published while little is left.
	foreseePeriod = time.Minute
)

// foresee publishes who would be evicted first, if little more than a threshold is left of something.
func (m *Manager) foresee(ctx context.Context, seen observations, now time.Time) {
	t := m.nearest(seen, foreseeShare)
	if t == nil || m.cfg.Bus == nil || now.Sub(m.foreseen) < foreseePeriod {
		return
	}
	m.foreseen = now
	stats, err := m.usage(ctx, nil)
	if err != nil {
		return
	}
	got := seen[t.Signal]
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Eviction{
		Signal: t.Signal, Available: got.available, Capacity: got.capacity, Threshold: t.trace(), Outcome: trace.EvictionNear,
		Ranked: ranking(m.rank(t, stats)),
	})
}

// nearest returns the first threshold of which no more than a share of the capacity is left; nil for none.
func (m *Manager) nearest(seen observations, share int64) *Threshold {
	for i := range m.thresholds {
		t := &m.thresholds[i]
		if got, ok := seen[t.Signal]; ok && got.available < t.Free.of(got.capacity)+got.capacity/share {
			return t
		}
	}
	return nil
}
