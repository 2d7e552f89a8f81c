package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"path"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/systemd"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// sliceManager is the common part of opencontainers/cgroups' two managers for systemd.
type sliceManager interface {
	Apply(pid int) error
	Set(*cgroups.Resources) error
	Destroy() error
}

// ensureSlice requests the slice from systemd and sets its limits. Limits that are written to files would not last,
// because systemd owns the tree.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, Create.
func (m *Manager) ensureSlice(name string, l limits) error {
	s, res, err := m.slice(name, l)
	if err != nil {
		return err
	}
	// No process joins; an existing slice is no error.
	if err := s.Apply(-1); err != nil {
		return fmt.Errorf("start slice: %w", err)
	}
	if err := s.Set(res); err != nil {
		return fmt.Errorf("set limits of slice: %w", err)
	}
	return nil
}

// setSlice sets the limits of a slice that exists.
func (m *Manager) setSlice(name string, l limits) error {
	s, res, err := m.slice(name, l)
	if err != nil {
		return err
	}
	if err := s.Set(res); err != nil {
		return fmt.Errorf("set limits of slice: %w", err)
	}
	return nil
}

// possible returns the limits without those whose controller is missing: the library reports an error for them.
func (m *Manager) possible(l limits) limits {
	if !m.controls("hugetlb") {
		l.pageSizes = nil
	}
	if !m.controls("cpuset") {
		l.cpus = ""
	}
	if !m.controls("pids") {
		l.pids = 0
	}
	return l
}

func (m *Manager) removeSlice(name string) error {
	s, _, err := m.slice(name, limits{})
	if err != nil {
		return err
	}
	return s.Destroy()
}

func (m *Manager) slice(name string, l limits) (sliceManager, *cgroups.Resources, error) {
	if !systemd.IsRunningSystemd() {
		return nil, nil, errors.New("cgroupDriver systemd: systemd does not run on this node; use cgroupfs, also in the runtime (containerd: SystemdCgroup = false; CRI-O: cgroup_manager = \"cgroupfs\")")
	}
	l = m.possible(l)
	res := l.resources(m.v2)
	parent := path.Base(path.Dir(name))
	if parent == "/" {
		parent = "-" + slice
	}
	cfg := &cgroups.Cgroup{Systemd: true, Parent: parent, Name: path.Base(name), Resources: res}
	if m.v2 {
		s, err := systemd.NewUnifiedManager(cfg, "")
		return s, res, err
	}
	s, err := systemd.NewLegacyManager(cfg, nil)
	return s, res, err
}

// resources returns the limits in the library's type.
func (l limits) resources(v2 bool) *cgroups.Resources {
	out := &cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true}
	if v2 {
		out.CpuWeight = uint64(qos.Weight(l.CPUShares))
	} else {
		out.CpuShares = uint64(l.CPUShares)
	}
	if quota, period, ok := l.quota(); ok {
		out.CpuQuota, out.CpuPeriod = quota, uint64(period)
	}
	if memory, ok := l.memory(); ok {
		out.Memory = memory
	}
	if l.pids > 0 {
		out.PidsLimit = &l.pids
	}
	out.CpusetCpus = l.cpus
	if v2 && len(l.unified) > 0 {
		out.Unified = maps.Clone(l.unified)
	}
	for _, size := range l.pageSizes {
		out.HugetlbLimit = append(out.HugetlbLimit, &cgroups.HugepageLimit{Pagesize: size, Limit: uint64(l.hugePages(size))})
	}
	return out
}
