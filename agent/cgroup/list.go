package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// List returns the pods that have a cgroup in any hierarchy, with the cgroups' names, sorted. Cgroups of unknown pods
// are orphans to destroy.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, GetAllPodsFromCgroups.
func (m *Manager) List(ctx context.Context) (map[types.UID][]string, error) {
	if m == nil {
		return nil, nil
	}
	found := map[types.UID][]string{}
	for _, h := range m.tree {
		for _, tier := range tiers() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			name := m.name(tier...)
			entries, err := os.ReadDir(filepath.Join(h.dir, name))
			if err != nil && !gone(err) {
				return nil, fmt.Errorf("list cgroups of pods: %w", err)
			}
			for _, e := range entries {
				uid := m.podUID(e.Name())
				if pod := path.Join(name, e.Name()); e.IsDir() && uid != "" && !slices.Contains(found[uid], pod) {
					found[uid] = append(found[uid], pod)
				}
			}
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found, nil
}

// Pids returns the processes of a pod, including its containers', sorted. A pod without a cgroup has none.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, Pids.
func (m *Manager) Pids(uid types.UID) ([]int, error) {
	if m == nil {
		return nil, nil
	}
	if err := checkUID(uid); err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, top := range m.dirsOf(uid) {
		all, err := below(top)
		if err != nil {
			return nil, err
		}
		for _, dir := range all {
			text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if err != nil && !gone(err) {
				return nil, fmt.Errorf("read processes: %w", err)
			}
			for field := range strings.FieldsSeq(string(text)) {
				// A process of another PID namespace reads as 0: it has no PID here.
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					seen[pid] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// dirsOf returns the directories that a pod may have, existing or not: one for each hierarchy and tier.
func (m *Manager) dirsOf(uid types.UID) []string {
	var out []string
	for _, h := range m.tree {
		for _, tier := range tiers() {
			out = append(out, filepath.Join(h.dir, m.name(append(tier, podPrefix+string(uid))...)))
		}
	}
	return out
}

// below returns dir and all directories in it, parents before children; none if dir does not exist.
func below(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if gone(err) {
				return nil
			}
			return err
		}
		if d.IsDir() {
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("walk cgroup: %w", err)
	}
	return out, nil
}

// gone reports whether err is the kernel's error for a removed cgroup.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoDevice) }
