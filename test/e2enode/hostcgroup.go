package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// tree is one cgroup hierarchy of version 1. Options are what it is mounted with, such as cpu,cpuacct or name=systemd.
type tree struct{ Path, Options string }

// cgroupTrees are the hierarchies of this host.
func cgroupTrees() ([]tree, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup"))
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return nil, fmt.Errorf("-host: %w", err)
	}
	trees := treesOf(mounts, controllersOf(string(table)))
	for _, needed := range []string{"cpu", "memory", "pids"} {
		if !slices.ContainsFunc(trees, func(t tree) bool { return slices.Contains(strings.Split(t.Options, ","), needed) }) {
			return nil, fmt.Errorf("-host needs cgroup v1, but no hierarchy of the controller %s is mounted: run the tests in the machine", needed)
		}
	}
	return trees, nil
}

// controllersOf are the first words of the lines of /proc/cgroups.
func controllersOf(table string) []string {
	var names []string
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			names = append(names, f[0])
		}
	}
	return names
}

// treesOf keeps of each hierarchy's options what selects it.
func treesOf(mounts []*mountinfo.Info, controllers []string) []tree {
	var trees []tree
	for _, m := range mounts {
		var options []string
		for o := range strings.SplitSeq(m.VFSOptions, ",") {
			if slices.Contains(controllers, o) || strings.HasPrefix(o, "name=") {
				options = append(options, o)
			}
		}
		if len(options) > 0 {
			trees = append(trees, tree{Path: m.Mountpoint, Options: strings.Join(options, ",")})
		}
	}
	return trees
}

// cgroupOf names the cgroup of a run by its directory, so that two runs have two.
func cgroupOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "kubeloupe-e2e-" + hex.EncodeToString(sum[:4])
}

func createCgroups(p plan) error {
	for _, t := range p.Trees {
		dir := filepath.Join(t.Path, p.Cgroup)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("create cgroup: %w", err)
		}
		if !slices.Contains(strings.Split(t.Options, ","), "cpuset") {
			continue
		}
		// An empty cpuset takes no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(t.Path, file))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), bytes.TrimSpace(value), 0o644)
			}
			if err != nil {
				return fmt.Errorf("set up cgroup %s: %w", dir, err)
			}
		}
	}
	return nil
}

// joinCgroups moves this process.
func joinCgroups(p plan) error {
	for _, t := range p.Trees {
		if err := os.WriteFile(filepath.Join(t.Path, p.Cgroup, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the run's cgroups, whose processes have ended with their namespace.
func removeCgroups(p plan) error {
	var errs []error
	for _, t := range p.Trees {
		dir := filepath.Join(t.Path, p.Cgroup)
		var err error
		for range 100 {
			if err = removeTree(dir); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeTree removes a cgroup and those below it.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, d := range slices.Backward(dirs) {
		errs = append(errs, os.Remove(d))
	}
	return errors.Join(errs...)
}
