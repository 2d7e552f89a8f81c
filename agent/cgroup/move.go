package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxProcs limits the list of the root cgroup's processes, in bytes.
const maxProcs = 1 << 20

// MoveSystem moves the processes in the root cgroup to another one, which is created. Kernel threads and process 1 stay.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, ensureSystemCgroups.
func (m *Manager) MoveSystem(name string) error {
	if m == nil {
		return nil
	}
	var errs []error
	for _, h := range m.tree {
		text, err := wholefile.Read(filepath.Join(h.dir, "cgroup.procs"), maxProcs)
		if err != nil {
			return fmt.Errorf("read processes: %w", err)
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil || pid <= 1 || isKernel(pid) {
				continue
			}
			errs = append(errs, m.move(h, name, pid))
		}
	}
	return errors.Join(errs...)
}

// MoveSelf moves the agent to a cgroup, which is created.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, ensureProcessInContainerWithOOMScore.
func (m *Manager) MoveSelf(name string) error {
	if m == nil {
		return nil
	}
	var errs []error
	for _, h := range m.tree {
		errs = append(errs, m.move(h, name, os.Getpid()))
	}
	return errors.Join(errs...)
}

// MakePlace creates a cgroup for processes of the node, and those above it.
func (m *Manager) MakePlace(name string) error {
	if m == nil {
		return nil
	}
	for _, h := range m.tree {
		dir := h.dir
		parts := strings.Split(strings.Trim(filepath.Clean("/"+name), "/"), "/")
		for i, part := range parts {
			dir = filepath.Join(dir, part)
			if err := m.fs.make(dir); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make cgroup: %w", err)
			}
			if m.v2 && i == len(parts)-1 {
				break // a cgroup with processes cannot have controllers for its children
			}
			if err := m.prepare(h, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// move moves a process. One that has ended is not an error.
func (m *Manager) move(h hierarchy, name string, pid int) error {
	err := m.fs.set(filepath.Join(h.dir, name, "cgroup.procs"), strconv.Itoa(pid))
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return fmt.Errorf("move process %d to cgroup %s: %w", pid, name, err)
}

// isKernel reports whether a process is a thread of the kernel, which has no executable.
func isKernel(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return errors.Is(err, fs.ErrNotExist)
}
