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

// List returns the pods that have a cgroup in any hierarchy, with the cgroups' names, sorted.
// Those that no pod accounts for are orphans to destroy.
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

// Pids returns the processes of a pod, its containers' included, sorted. A pod without a cgroup
// has none.
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
				// A process of another pid namespace reads as 0: it cannot be named from here.
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					seen[pid] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// dirsOf are the directories that a pod may have: one per hierarchy and tier, there or not.
func (m *Manager) dirsOf(uid types.UID) []string {
	var out []string
	for _, h := range m.tree {
		for _, tier := range tiers() {
			out = append(out, filepath.Join(h.dir, m.name(append(tier, podPrefix+string(uid))...)))
		}
	}
	return out
}

// below returns dir and all directories in it, parents before children; none when it is gone.
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

// gone reports whether err is what the kernel answers about a cgroup that has been removed.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoDevice) }
