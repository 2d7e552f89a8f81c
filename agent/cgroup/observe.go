package cgroup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ready reports whether the pod's cgroup and its parents exist in every hierarchy, with the limits that were last
// written. It only reads a few small files of the kernel, which only root can write: an administrator or a program may
// have removed or changed them, and a runtime creates a missing parent without limits.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, Exists, which checks in each sync whether it exists.
func (m *Manager) Ready(pod *v1.Pod) bool {
	if m == nil {
		return true
	}
	return m.stand(m.PodParent(pod), m.name(tierOf(pod)...), m.name(tiers()[0]...))
}

// stand reports whether a cgroup and its parents exist in every hierarchy, with the limits that were written.
func (m *Manager) stand(name string, parents ...string) bool {
	for _, h := range m.tree { // where it exists, its parents do
		if _, err := os.Lstat(filepath.Join(h.dir, name)); err != nil {
			return false
		}
	}
	return m.limited(name) && !slices.ContainsFunc(parents, func(p string) bool { return !m.limited(p) })
}

// limited reports whether a cgroup has the limits that were written, which may be none.
func (m *Manager) limited(name string) bool {
	m.written.Lock()
	figures, known := m.figures[name]
	m.written.Unlock()
	if !known {
		return false
	}
	for file, want := range figures {
		if value, err := read(file); err != nil || value != want {
			return false
		}
	}
	return true
}

// note stores the kernel's values of the limits of a cgroup, which may be rounded.
func (m *Manager) note(name string, settings []setting) {
	figures := map[string]string{}
	for _, h := range m.tree {
		for _, s := range settings {
			if !h.has(s.controller) {
				continue
			}
			file := filepath.Join(h.dir, name, s.file)
			value, err := read(file)
			if errors.Is(err, fs.ErrNotExist) && s.optional {
				continue
			}
			figures[file] = value
		}
	}
	m.written.Lock()
	defer m.written.Unlock()
	if m.figures == nil {
		m.figures = map[string]map[string]string{}
	}
	for file, value := range m.figures[name] {
		if _, ok := figures[file]; !ok {
			figures[file] = value // it is still valid
		}
	}
	m.figures[name] = figures
}

// wrote returns the names of the pod's cgroups to which this agent wrote limits: one, unless the pod's class changed.
func (m *Manager) wrote(uid types.UID) (names []string) {
	m.written.Lock()
	defer m.written.Unlock()
	for _, tier := range tiers() {
		if name := m.name(append(tier, podPrefix+string(uid))...); m.figures[name] != nil {
			names = append(names, name)
		}
	}
	return names
}

// forgetPod removes the values of the cgroups of a pod that no longer needs one.
func (m *Manager) forgetPod(uid types.UID) {
	m.written.Lock()
	defer m.written.Unlock()
	for _, tier := range tiers() {
		delete(m.figures, m.name(append(tier, podPrefix+string(uid))...))
	}
}

// maxValue is more than the length of a limit's file, in bytes.
const maxValue = 4 << 10

// read returns the content of a limit's file. It does not block, whatever is mounted over the file.
func read(file string) (string, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	text := make([]byte, maxValue)
	n, err := unix.Read(fd, text)
	if err != nil {
		return "", &fs.PathError{Op: "read", Path: file, Err: err}
	}
	return string(bytes.TrimSpace(text[:n])), nil
}
