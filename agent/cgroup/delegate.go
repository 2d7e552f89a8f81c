package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// needed are the controllers that must be enabled if the kernel has them.
var needed = [...]string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}

// delegate enables all controllers of dir for its children. If the kernel refuses, for example one that the agent does
// not use, it enables each that it can.
//
// Upstream: opencontainers/cgroups fs2, CreateCgroupPath.
func (m *Manager) delegate(dir string) error {
	have, err := read(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read cgroup: %w", err)
	}
	all := strings.Fields(have)
	if len(all) == 0 {
		return nil
	}
	file := filepath.Join(dir, "cgroup.subtree_control")
	if m.fs.set(file, "+"+strings.Join(all, " +")) == nil {
		return nil
	}
	var errs []error
	for _, c := range all {
		if err := m.fs.set(file, "+"+c); err != nil && slices.Contains(needed[:], c) {
			errs = append(errs, fmt.Errorf("delegate +%s (the cgroup must not hold processes itself): %w", c, err))
		}
	}
	return errors.Join(errs...)
}
