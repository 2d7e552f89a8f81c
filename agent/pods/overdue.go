package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// The agent gives the runtime at least leastKill to end a pod, and at most mostKill. mostKill only keeps the arithmetic within its range.
const (
	leastKill = 10 * time.Second
	mostKill  = 10 * 365 * 24 * time.Hour
)

// killLimit returns how long a pod with that grace period, in seconds, may take to terminate: half as long again.
func killLimit(grace int64) time.Duration {
	seconds := min(max(grace, 0), int64(mostKill/time.Second))
	return max(leastKill, time.Duration(seconds+seconds/2)*time.Second)
}

// killWatch is the time by which a pod should have terminated. Its methods are called with the store's mu.
type killWatch struct {
	timer *time.Timer
	at    time.Time
}

// start has late called after that time. An earlier time that has not passed yet stays.
func (w *killWatch) start(limit time.Duration, late func()) {
	now := time.Now()
	at := now.Add(limit)
	if w.timer != nil && w.at.After(now) && !w.at.After(at) {
		return
	}
	w.stop()
	w.at, w.timer = at, time.AfterFunc(limit, late)
}

func (w *killWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	*w = killWatch{}
}

// watchKill sends an Event if a pod that the agent ends by itself has not terminated in time. Call it before the worker is asked to end the
// pod.
//
// Upstream: pkg/kubelet/pod_workers.go, killPodNow.
func (m *Manager) watchKill(ctx context.Context, pod *v1.Pod, grace int64) {
	if s := m.cfg.Workers.State(pod.UID); s == worker.Terminated || s == worker.Gone {
		return
	}
	late := func() {
		if m.cfg.Workers.State(pod.UID) == worker.Terminating {
			m.event(ctx, pod, v1.EventTypeWarning, "ExceededGracePeriod", "Container runtime did not kill the pod within specified grace period.")
		}
	}
	m.cfg.Store.with(pod.UID, func(e *entry) { e.kill.start(killLimit(grace), late) })
}
