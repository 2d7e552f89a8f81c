package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is one mounted tree of cgroups: the only one on v2, one for each controller set on v1.
type hierarchy struct {
	dir         string
	controllers []string
}

func (h hierarchy) has(controller string) bool { return slices.Contains(h.controllers, controller) }

// detect returns the trees that are mounted below mount. On v1, each is a directory with the names of its controllers.
// A hybrid system also mounts the unified tree, without controllers. runc puts containers there too, so each pod has a
// cgroup in it, which must be removed with the pod.
func detect(mount string) (v2 bool, tree []hierarchy, err error) {
	entries, err := os.ReadDir(mount)
	if err != nil {
		return false, nil, &UnavailableError{mount, err}
	}
	if text, err := os.ReadFile(filepath.Join(mount, "cgroup.controllers")); err == nil {
		tree = []hierarchy{{mount, strings.Fields(string(text))}}
		return true, tree, require(mount, tree)
	}
	for _, e := range entries {
		dir := filepath.Join(mount, e.Name())
		// Links such as cpu -> cpu,cpuacct lead to a tree that is in the list itself.
		if !e.IsDir() || !exists(dir, "cgroup.procs") {
			continue
		}
		tree = append(tree, hierarchy{dir, strings.Split(e.Name(), ",")})
	}
	if len(tree) == 0 {
		return false, nil, &UnavailableError{mount, errors.New("neither cgroup v2 (no cgroup.controllers) nor v1 (no directory with cgroup.procs)")}
	}
	return false, tree, require(mount, tree)
}

func (m *Manager) controls(controller string) bool {
	return slices.ContainsFunc(m.tree, func(h hierarchy) bool { return h.has(controller) })
}

func require(mount string, tree []hierarchy) error {
	for _, c := range []string{"cpu", "memory"} {
		if !slices.ContainsFunc(tree, func(h hierarchy) bool { return h.has(c) }) {
			return &UnavailableError{mount, fmt.Errorf("the %s controller is missing: it is not mounted, not delegated or disabled on the kernel's command line", c)}
		}
	}
	return nil
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}
