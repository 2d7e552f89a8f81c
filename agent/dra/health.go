package dra

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
)

const (
	// healthTimeout is how long a report counts that does not say so itself, maxTimeout how long any counts; maxDevices limits the devices of a driver, and maxName their
	// names, in bytes.
	//
	// Upstream: pkg/kubelet/cm/dra/healthinfo.go, DefaultHealthTimeout, maxDevicesPerDriver.
	healthTimeout = 30 * time.Second
	maxTimeout    = 365 * 24 * time.Hour
	maxDevices    = 16384
	maxName       = 512
	// restartTime is how long what a driver said counts after its stream has ended.
	restartTime = 10 * time.Second
)

// deviceID is a device of a driver.
type deviceID struct{ driver, pool, device string }

// deviceHealth is what a driver said of a device.
type deviceHealth struct {
	health  v1.ResourceHealthStatus
	message string
	until   time.Time // when it is unknown again
	socket  string    // of the plugin that said it; "" if it was said to an earlier agent
	// at is when it was said, and timeout how long it counts then.
	at      time.Time
	timeout time.Duration
}

// health is the health of devices.
type health struct {
	kick  chan struct{}
	dirty chan struct{} // the file must be written

	mu     sync.Mutex
	all    map[deviceID]deviceHealth
	counts map[string]int // devices by driver
	next   time.Time      // when Run looks for reports that are too old; zero if there are none
}

func newHealth() *health {
	return &health{kick: make(chan struct{}, 1), dirty: make(chan struct{}, 1), all: map[deviceID]deviceHealth{}, counts: map[string]int{}}
}

// of returns the health of a device.
func (h *health) of(id deviceID) (v1.ResourceHealthStatus, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d, known := h.all[id]; known && time.Now().Before(d.until) {
		return d.health, d.message
	}
	return v1.ResourceHealthStatusUnknown, ""
}

// Report implements driver.Health.
//
// Upstream: pkg/kubelet/cm/dra/healthinfo.go, updateHealthInfo.
func (m *Manager) Report(driver, socket string, devices []*healthapi.DeviceHealth) {
	h, changed, save := m.health, map[deviceID]bool{}, false
	h.mu.Lock()
	now := time.Now()
	for _, r := range devices {
		id := deviceID{driver, r.GetDevice().GetPoolName(), r.GetDevice().GetDeviceName()}
		old, known := h.all[id]
		if !known && h.counts[driver] >= maxDevices || len(id.pool) > maxName || len(id.device) > maxName {
			continue
		}
		if !known {
			h.counts[driver]++
		}
		timeout := timeoutOf(r)
		d := deviceHealth{health: statusOf(r.GetHealth()), message: clipMessage(r.GetMessage()), until: now.Add(timeout), socket: socket, at: now, timeout: timeout}
		h.all[id] = d
		save = save || !known || old.health != d.health || old.message != d.message || old.timeout != d.timeout
		if !known || old.health != d.health || old.message != d.message || !now.Before(old.until) {
			changed[id] = true
		}
		h.expires(d.until)
	}
	h.mu.Unlock()
	if save {
		h.soil()
	}
	m.healthChanged(changed)
}

// End implements driver.Health. What the plugin said counts for a moment more: it may be restarting.
func (m *Manager) End(driver, socket string) {
	h := m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	soon := time.Now().Add(restartTime)
	for id, d := range h.all {
		if id.driver == driver && d.socket == socket && d.until.After(soon) {
			d.until = soon
			h.all[id] = d
			h.expires(soon)
		}
	}
}

// expires has Run look at that time. Called with mu.
func (h *health) expires(at time.Time) {
	if !h.next.IsZero() && !at.Before(h.next) {
		return
	}
	h.next = at
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// expireHealth removes reports that are too old when they are.
func (m *Manager) expireHealth(ctx context.Context) {
	h := m.health
	for {
		h.mu.Lock()
		var timer <-chan time.Time
		var t *time.Timer
		if !h.next.IsZero() {
			t = time.NewTimer(time.Until(h.next))
			timer = t.C
		}
		h.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-h.kick:
		case <-timer:
			m.healthChanged(h.sweep(time.Now()))
		}
		if t != nil {
			t.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// sweep removes what is too old and returns it.
func (h *health) sweep(now time.Time) map[deviceID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := map[deviceID]bool{}
	h.next = time.Time{}
	for id, d := range h.all {
		switch {
		case !now.Before(d.until):
			delete(h.all, id)
			h.soil()
			if h.counts[id.driver]--; h.counts[id.driver] == 0 {
				delete(h.counts, id.driver)
			}
			gone[id] = d.health != v1.ResourceHealthStatusUnknown
		case h.next.IsZero() || d.until.Before(h.next):
			h.next = d.until
		}
	}
	maps.DeleteFunc(gone, func(_ deviceID, news bool) bool { return !news })
	return gone
}

// healthChanged reports the pods that use devices.
func (m *Manager) healthChanged(changed map[deviceID]bool) {
	if len(changed) == 0 || m.cfg.HealthChanged == nil {
		return
	}
	hurt := map[types.UID]bool{}
	m.mu.Lock()
	for _, c := range m.claims {
		for name, state := range c.DriverState {
			for i := range state.Devices {
				if !changed[deviceID{name, state.Devices[i].PoolName, state.Devices[i].DeviceName}] {
					continue
				}
				m.postpone(c.key())
				for uid := range c.PodUIDs {
					hurt[types.UID(uid)] = true
				}
			}
		}
	}
	m.mu.Unlock()
	if len(hurt) > 0 {
		m.cfg.HealthChanged(slices.Sorted(maps.Keys(hurt)))
	}
}

func statusOf(h healthapi.HealthStatus) v1.ResourceHealthStatus {
	switch h {
	case healthapi.HealthStatus_HEALTHY:
		return v1.ResourceHealthStatusHealthy
	case healthapi.HealthStatus_UNHEALTHY:
		return v1.ResourceHealthStatusUnhealthy
	case healthapi.HealthStatus_UNKNOWN:
	}
	return v1.ResourceHealthStatusUnknown
}

// timeoutOf returns how long a report counts.
func timeoutOf(r *healthapi.DeviceHealth) time.Duration {
	if s := r.GetHealthCheckTimeoutSeconds(); s > 0 {
		return time.Duration(min(s, int64(maxTimeout/time.Second))) * time.Second
	}
	return healthTimeout
}

// clipMessage shortens a message to what a status may have.
func clipMessage(s string) string {
	if len(s) <= v1.ResourceHealthMessageMaxLength {
		return strings.ToValidUTF8(s, "")
	}
	return strings.ToValidUTF8(s[:v1.ResourceHealthMessageMaxLength-len("...")], "") + "..."
}
