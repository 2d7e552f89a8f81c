package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// hierarchy is one mounted cgroup tree.
type hierarchy struct {
	path string
	// unified is a cgroup v2 tree; cpuset is the v1 tree of that controller.
	unified, cpuset bool
}

// hierarchies lists the cgroup trees of the machine: one for v2, one for each
// v1 controller (and perhaps an idle v2 one) otherwise.
func hierarchies() ([]hierarchy, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, err
	}
	var list []hierarchy
	for _, m := range mounts {
		list = append(list, hierarchy{
			path:    m.Mountpoint,
			unified: m.FSType == "cgroup2",
			cpuset:  slices.Contains(strings.Split(m.VFSOptions, ","), "cpuset"),
		})
	}
	return list, nil
}

// createCgroup makes the lab's root in every tree that holds controllers.
func createCgroup(trees []hierarchy, name string) error {
	for _, tree := range trees {
		if tree.unified && len(trees) > 1 {
			continue // the idle tree of a hybrid machine
		}
		dir := filepath.Join(tree.path, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create cgroup: %w", err)
		}
		var err error
		switch {
		case tree.unified:
			err = delegate(tree.path)
		case tree.cpuset:
			// An empty cpuset takes no process.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				err = errors.Join(err, inherit(tree.path, dir, file))
			}
		}
		if err != nil {
			return fmt.Errorf("set up cgroup %s: %w", dir, err)
		}
	}
	return nil
}

// delegate lets the children of a v2 cgroup use all its controllers.
func delegate(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(have)) {
		// Some controllers cannot be delegated, which is no harm here.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644)
	}
	return nil
}

func inherit(parent, child, file string) error {
	data, err := os.ReadFile(filepath.Join(parent, file))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(child, file), bytes.TrimSpace(data), 0o644)
}

// removeCgroup kills what runs in the lab's cgroups and removes them.
func removeCgroup(ctx context.Context, trees []hierarchy, name string) error {
	var errs []error
	for _, tree := range trees {
		dir := filepath.Join(tree.path, name)
		left := dir
		gone := poll(ctx, 5*time.Second, 5*time.Millisecond, func() bool {
			left = removeTree(dir)
			return left == ""
		})
		if !gone {
			errs = append(errs, fmt.Errorf("cgroup %s does not go away", left))
		}
	}
	return errors.Join(errs...)
}

// removeTree kills and removes what it can below dir, and returns one cgroup
// that remains, or "".
func removeTree(dir string) string {
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what vanishes meanwhile is as wanted
	})
	left := ""
	for _, d := range slices.Backward(dirs) {
		procs, _ := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(procs)) {
			if pid, err := strconv.Atoi(field); err == nil {
				_ = recordProcess(pid).stop(context.Background(), 0)
			}
		}
		// A frozen process dies only once thawed.
		if freezer := filepath.Join(d, "freezer.state"); exists(freezer) {
			_ = os.WriteFile(freezer, []byte("THAWED"), 0o644)
		}
		if err := os.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = d
		}
	}
	return left
}
