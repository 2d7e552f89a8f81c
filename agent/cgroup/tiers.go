package cgroup

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// UpdateTiers sets the limits of the tiers that depend on the requests of their pods: the CPU weight of the burstable
// cgroup, and with memory QoS or qosReserved also memory. It writes and publishes only what has changed, and limits that are raised.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, UpdateCgroups.
func (m *Manager) UpdateTiers(ctx context.Context, pods []*v1.Pod) error {
	if m == nil {
		return nil
	}
	next := demandOf(pods, m.cfg.Claims)
	m.mu.Lock()
	defer m.mu.Unlock()
	before, after := m.cfg.planTiers(m.demand), m.cfg.planTiers(next)
	for i, tier := range tiers() {
		name := m.name(tier...)
		if same(before[i], after[i], m.v2) && !m.raised[name] {
			continue
		}
		if err := m.traced(ctx, trace.CgroupUpdate, name, func(*trace.CgroupOp) error { return m.ensureTier(name, after[i]) }); err != nil {
			return err
		}
	}
	m.demand = next
	return nil
}

// ensureTier creates a tier and sets its limits. The kernel may refuse a limit of qosReserved below the current use:
// then the limit is raised to the use, until the next update. m.mu is locked.
//
// Upstream: pkg/kubelet/cm/qos_container_manager_linux.go, retrySetMemoryReserve.
func (m *Manager) ensureTier(name string, l limits) error {
	if name == m.name(tiers()[0]...) {
		return m.ensureAll(name, l)
	}
	err := m.ensure(name, l)
	delete(m.raised, name)
	limit, limited := l.memory()
	if err == nil || !limited || m.cfg.QOSReserved == nil {
		return err
	}
	used, ok := m.memoryUsage(name)
	if !ok || used <= limit {
		return err
	}
	l.Memory = &used
	m.raised[name] = true
	return m.ensure(name, l)
}

// anyRaised reports whether a tier has a larger limit than its pods require.
func (m *Manager) anyRaised() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.raised) > 0
}

// ensureAll creates kubepods and sets its limits. On v1, the kernel refuses a limit of the memory below the current use, for example if the
// reservations have grown: then kubepods has all other limits, until RetryRefused succeeds. With the systemd driver, the error of the library
// is only a text, and so the use counts. m.mu is locked.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
func (m *Manager) ensureAll(name string, l limits) error {
	err := m.ensure(name, l)
	m.refused = nil
	limit, limited := l.memory()
	if err == nil || !limited {
		return err
	}
	if used, known := m.memoryUsage(name); !errors.Is(err, unix.EBUSY) && (!known || used <= limit) {
		return err
	}
	l.Memory = nil
	if err := m.ensure(name, l); err != nil {
		return err
	}
	m.refused = err
	return nil
}

// Refused returns why kubepods has not the limit of its memory: pods use more. nil means that it has. Evictions are expected to end this.
func (m *Manager) Refused() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// RetryRefused sets the limits of kubepods again. The error is that of Refused, or another one.
func (m *Manager) RetryRefused(ctx context.Context) error {
	if m == nil {
		return nil
	}
	name := m.name(tiers()[0]...)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.traced(ctx, trace.CgroupUpdate, name, func(*trace.CgroupOp) error {
		if err := m.ensureTier(name, m.cfg.planTiers(m.demand)[0]); err != nil {
			return err
		}
		return m.refused
	})
}

// AllPods returns the parts of the name of the cgroup of all pods, such as kubepods.
func (m *Manager) AllPods() []string { return append(split(m.cfg.Root), tiers()[0]...) }

// memoryUsage returns the bytes that a cgroup uses.
func (m *Manager) memoryUsage(name string) (int64, bool) {
	return m.memoryFigure(name, "memory.usage_in_bytes", "memory.current")
}

// memoryLimit returns the limit of a cgroup, in bytes; false if it has none.
func (m *Manager) memoryLimit(name string) (int64, bool) {
	return m.memoryFigure(name, "memory.limit_in_bytes", "memory.max")
}

// memoryFigure returns the number in a file of cgroup v1 or v2; false if there is none.
func (m *Manager) memoryFigure(name, v1, v2 string) (int64, bool) {
	file := v1
	if m.v2 {
		file = v2
	}
	for _, h := range m.tree {
		if !h.has("memory") {
			continue
		}
		text, err := read(filepath.Join(h.dir, name, file))
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	return 0, false
}
