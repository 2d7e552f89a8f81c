package dra

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// savePause is the shortest time between two writes of the health of devices, and saveShare how many times as long as a write the agent
	// waits after it: the file of a driver that invents devices may have some 30 MiB.
	savePause = time.Second
	saveShare = 20
)

func (m *Manager) healthPath() string { return filepath.Join(m.cfg.Dir, checkpoint.HealthName) }

// soil has the file written.
func (h *health) soil() {
	select {
	case h.dirty <- struct{}{}:
	default:
	}
}

// saveHealth writes the health of devices when it changes, and when ctx ends: what drivers said last counts for the next agent, as long as
// the drivers said.
func (m *Manager) saveHealth(ctx context.Context) {
	failed := false
	save := func() {
		err := checkpoint.WriteHealth(m.healthPath(), m.health.saved())
		if err != nil && !failed {
			m.warn("the health of devices of DRA drivers cannot be saved: after a restart of the agent it is unknown until they report it", err)
		}
		failed = err != nil
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-m.health.dirty:
			began := time.Now()
			save()
			clock.Sleep(ctx, max(savePause, saveShare*time.Since(began)))
		}
	}
	select {
	case <-m.health.dirty:
		save()
	default:
		if m.health.known() {
			save()
		}
	}
}

func (h *health) known() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all) > 0
}

// saved returns what the file has.
func (h *health) saved() map[string][]checkpoint.DeviceHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string][]checkpoint.DeviceHealth{}
	for id, d := range h.all {
		out[id.driver] = append(out[id.driver], checkpoint.DeviceHealth{
			PoolName: id.pool, DeviceName: id.device, Health: d.health, LastUpdated: d.at, HealthCheckTimeout: d.timeout, Message: d.message,
		})
	}
	return out
}

// restoreHealth reads what drivers said to an earlier agent, of which a part may still count. As upstream, a file that cannot be read is
// ignored, and replaced at the next change: drivers report again.
func (m *Manager) restoreHealth() {
	all, err := checkpoint.ReadHealth(m.healthPath())
	if err != nil {
		m.warn("the health of devices of DRA drivers cannot be restored: it is unknown until they report it", err)
		return
	}
	h, now := m.health, time.Now()
	for driver, devices := range all {
		for i := range devices {
			id, d := deviceID{driver, devices[i].PoolName, devices[i].DeviceName}, restored(now, &devices[i])
			if !now.Before(d.until) || len(id.driver) > maxName || len(id.pool) > maxName || len(id.device) > maxName || h.counts[driver] >= maxDevices {
				continue
			}
			h.all[id] = d
			h.counts[driver]++
			h.expires(d.until)
		}
	}
}

// restored converts an entry of the file. A time of the future is one of a clock that was set since.
func restored(now time.Time, d *checkpoint.DeviceHealth) deviceHealth {
	out := deviceHealth{health: v1.ResourceHealthStatusUnknown, message: clipMessage(d.Message), at: clock.Past(now, d.LastUpdated)}
	out.timeout = min(cmp.Or(d.HealthCheckTimeout, healthTimeout), maxTimeout)
	out.until = out.at.Add(out.timeout)
	if d.Health == v1.ResourceHealthStatusHealthy || d.Health == v1.ResourceHealthStatusUnhealthy {
		out.health = d.Health
	}
	return out
}

func (m *Manager) warn(message string, err error) {
	trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: message, Attrs: []trace.KV{{K: "error", V: err.Error()}}})
}
