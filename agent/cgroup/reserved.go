package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Reserved is a cgroup of the system, such as system.slice. It exists before the agent starts.
type Reserved struct {
	// Field is the field with the name, for errors: systemReservedCgroup or kubeReservedCgroup.
	Field string
	// Name is its value.
	Name string
	// Limits are the reservation, which becomes a limit.
	Limits Limits
	// Compressible enforces only CPU.
	Compressible bool
}

// Reserved returns the cgroups of the system whose reservations are enforced.
func (m *Manager) Reserved() []Reserved { return m.cfg.Reserved }

// EnsureReserved sets the limits of the cgroups of the system. It is an error if one of them does not exist.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, enforceNodeAllocatableCgroups.
func (m *Manager) EnsureReserved(ctx context.Context) error {
	if m == nil {
		return nil
	}
	var errs []error
	for _, r := range m.cfg.Reserved {
		name := m.reservedName(r.Name)
		errs = append(errs, m.traced(ctx, trace.CgroupUpdate, name, func(*trace.CgroupOp) error {
			if err := m.present(name); err != nil {
				return fmt.Errorf("%s %q: %w", r.Field, r.Name, err)
			}
			l := m.cfg.planReserved(r)
			if m.cfg.Driver == Systemd {
				return m.setSlice(name, l)
			}
			return m.set(name, l)
		}))
	}
	return errors.Join(errs...)
}

// reservedName returns the path of a cgroup from the configuration. With systemd only the slice's name counts, which has
// its parents.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, CgroupName.
func (m *Manager) reservedName(text string) string {
	if m.cfg.Driver != Systemd {
		return path.Clean("/" + text)
	}
	parts := strings.Split(strings.TrimSuffix(path.Base(text), slice), "-")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "_", "-")
	}
	return m.spell(parts)
}

// present returns an error if a cgroup is missing in a hierarchy that is used, or on v2 if it lacks a controller.
//
// Upstream: pkg/kubelet/cm/cgroup_v2_manager_linux.go and cgroup_v1_manager_linux.go, Validate.
func (m *Manager) present(name string) error {
	used := []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}
	for _, h := range m.tree {
		if !slices.ContainsFunc(used, h.has) {
			continue
		}
		dir := filepath.Join(h.dir, name)
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("there is no cgroup %s: create it before the agent starts, or take its entry out of enforceNodeAllocatable", dir)
		}
		if !m.v2 {
			continue
		}
		text, err := read(filepath.Join(dir, "cgroup.controllers"))
		if err != nil {
			return err
		}
		own := strings.Fields(text)
		for _, c := range used {
			if h.has(c) && !slices.Contains(own, c) {
				return fmt.Errorf("cgroup %s lacks the %s controller: add +%[2]s to cgroup.subtree_control of its parent", dir, c)
			}
		}
	}
	return nil
}
