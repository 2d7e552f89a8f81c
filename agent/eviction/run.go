package eviction

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

// Upstream: pkg/kubelet/kubelet.go, evictionMonitoringPeriod; pkg/kubelet/eviction/eviction_manager.go.
const (
	// Period is how often figures are published, limits of local storage are enforced, and a round that could not help is repeated.
	// WatchPeriod is how often the node is measured; NearPeriod, while little more than a threshold is left.
	Period      = 10 * time.Second
	WatchPeriod = 3 * time.Second
	NearPeriod  = time.Second
	// hardGrace is the grace period of a pod in a hard eviction, in seconds.
	hardGrace = 1
	// endLimit is how long a round waits for the end of a pod, beyond its grace period.
	endLimit = 30 * time.Second
	// endPause is how often it looks.
	endPause = 250 * time.Millisecond
	// pause is the least time between rounds: the kernel may report stalls all the time. crossedPause is the least time before a round
	// because memory crossed a threshold.
	pause        = NearPeriod
	crossedPause = 100 * time.Millisecond
)

// Run runs rounds until ctx is done: every WatchPeriod (NearPeriod while little is left), after the end of a pod that was evicted, and when
// the kernel reports that tasks stall for memory, or that memory crossed a threshold.
func (m *Manager) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		evicted, grace := m.round(ctx)
		if len(evicted) > 0 {
			m.await(ctx, evicted, grace)
			continue
		}
		m.rest(ctx)
	}
	return nil
}

// rest waits until the next round is due.
func (m *Manager) rest(ctx context.Context) {
	var crossed <-chan struct{}
	if m.cfg.Watcher != nil {
		crossed = m.cfg.Watcher.C()
	}
	if !clock.Sleep(ctx, crossedPause) || !wait(ctx, pause-crossedPause, crossed, nil) || m.near {
		return
	}
	wait(ctx, WatchPeriod-pause, crossed, m.cfg.Stalled)
}

// wait returns false if ctx ended or one of the channels delivered first.
func wait(ctx context.Context, d time.Duration, one, other <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-one:
	case <-other:
	case <-t.C:
		return true
	}
	return false
}

// await waits until the resources of evicted pods are free: until then, no other pod has to go. If they were given time to end, it looks at the
// node meanwhile, and returns when a hard threshold must be acted on.
func (m *Manager) await(ctx context.Context, evicted []*v1.Pod, grace int64) {
	m.setBusy(true)
	defer m.setBusy(false)
	looked := time.Now()
	limit := looked.Add(endLimit + time.Duration(grace)*time.Second)
	for _, pod := range evicted {
		for !m.cfg.Pods.Ended(pod.UID) && time.Now().Before(limit) {
			if !clock.Sleep(ctx, endPause) {
				return
			}
			if grace <= hardGrace || time.Since(looked) < WatchPeriod {
				continue
			}
			if looked = time.Now(); m.urgent(ctx) {
				return
			}
		}
	}
}
