package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dirs creates and removes cgroups, and sets their limits. The kernel creates and removes the files of a cgroup with it
// and refuses limits, which a plain file system does not: tests replace dirs.
type dirs struct {
	make, remove func(path string) error
	set          func(file, value string) error
}

func kernel() dirs {
	return dirs{
		make:   func(p string) error { return os.Mkdir(p, 0o755) },
		remove: rmdir,
		set:    write,
	}
}

// ensure creates one cgroup in every hierarchy, ready for processes and children, and sets its limits. Its parents
// exist.
func (m *Manager) ensure(name string, l limits) error {
	if m.cfg.Driver == Systemd {
		if err := m.ensureSlice(name, l); err != nil {
			return err
		}
		m.note(name, l.settings(m.v2))
		return nil
	}
	for _, h := range m.tree {
		dir := filepath.Join(h.dir, name)
		if err := m.fs.make(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make cgroup: %w", err)
		}
		if err := m.prepare(h, dir); err != nil {
			return err
		}
	}
	return m.set(name, l)
}

// set sets the limits of a cgroup that exists.
func (m *Manager) set(name string, l limits) error {
	settings := l.settings(m.v2)
	for _, h := range m.tree {
		for _, s := range settings {
			if !h.has(s.controller) {
				continue
			}
			err := m.fs.set(filepath.Join(h.dir, name, s.file), s.value)
			if err == nil || s.optional && errors.Is(err, fs.ErrNotExist) || s.lenient {
				continue
			}
			return fmt.Errorf("set cgroup limit to %s: %w", s.value, err)
		}
	}
	m.note(name, settings)
	return nil
}

// prepare makes a cgroup usable: on v2 its children can be limited, on v1 it has CPUs and memory nodes.
func (m *Manager) prepare(h hierarchy, dir string) error {
	if m.v2 {
		return m.delegate(dir)
	}
	if !h.has("cpuset") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(dir, file); err != nil {
			return err
		}
	}
	return nil
}

// inherit copies a cpuset file from the parent, because it is empty in a new cgroup.
func inherit(dir, file string) error {
	if own, err := read(filepath.Join(dir, file)); err != nil || own != "" {
		return err
	}
	parent, err := read(filepath.Join(filepath.Dir(dir), file))
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, file), parent)
}

// write sets an existing file with one write, as the kernel requires. A smaller memory limit may be interrupted by a signal (EINTR): package os
// tries again.
func write(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// rmdir removes a cgroup. os.Remove would try to remove a file first.
func rmdir(dir string) error {
	if err := unix.Rmdir(dir); err != nil {
		return &fs.PathError{Op: "remove", Path: dir, Err: err}
	}
	return nil
}
