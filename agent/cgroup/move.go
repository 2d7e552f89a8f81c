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

// MoveSystem moves the processes in the root cgroup to one that [Manager.MakePlace] has created. Kernel threads and process 1 stay. The error
// says how many could not be moved, and why the first of them could not.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, ensureSystemCgroups.
func (m *Manager) MoveSystem(name string) error {
	if m == nil {
		return nil
	}
	var first error
	failed := 0
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
			if err := m.move(h, name, pid); err != nil {
				if failed++; first == nil {
					first = err
				}
			}
		}
	}
	if failed > 1 {
		return fmt.Errorf("%d moves of processes failed, the first: %w", failed, first)
	}
	return first
}

// MoveSelf moves the agent to a cgroup that [Manager.MakePlace] has created.
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
	parts := strings.Split(strings.Trim(inRoot(name), "/"), "/")
	for _, h := range m.tree {
		dir := h.dir
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
	err := m.fs.set(filepath.Join(h.dir, inRoot(name), "cgroup.procs"), strconv.Itoa(pid))
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return fmt.Errorf("move process %d to cgroup %s: %w", pid, name, err)
}

// inRoot returns the path of a configured cgroup below the root: dots do not leave it.
func inRoot(name string) string { return filepath.Clean("/" + name) }

// isKernel reports whether a process is a thread of the kernel, which has no executable.
func isKernel(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return errors.Is(err, fs.ErrNotExist)
}
