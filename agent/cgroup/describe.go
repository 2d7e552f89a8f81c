package cgroup

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Values is one cgroup with its values.
type Values struct {
	// Path is relative to the cgroup mount.
	Path string `json:"path"`
	// Files are the limits and figures of its files, by file name.
	Files map[string]string `json:"files"`
	// Processes is the number of processes in it, without those of its children.
	Processes int `json:"processes"`
}

// told are the files with limits and usage; which of them exist depends on the hierarchy.
var told = [...]string{
	"cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.weight", "cpu.max", "cpu.stat", "cpuset.cpus",
	"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "memory.min", "memory.low", "memory.high", "memory.max", "memory.swap.max",
	"memory.oom.group", "memory.current", "memory.swap.current", "memory.events",
	"pids.max", "pids.current", "cpu.pressure", "memory.pressure", "io.pressure",
}

// Describe returns the cgroups of a pod and of its containers with their values. With uid "", it returns the cgroups of all pods
// together and of the QoS classes. Missing cgroups are omitted.
func (m *Manager) Describe(uid types.UID) ([]Values, error) {
	if m == nil {
		return nil, nil
	}
	var tops []string
	if uid == "" {
		for _, tier := range tiers() {
			tops = append(tops, m.name(tier...))
		}
	} else {
		if err := checkUID(uid); err != nil {
			return nil, err
		}
		for _, tier := range tiers() {
			tops = append(tops, m.name(append(tier, podPrefix+string(uid))...))
		}
	}
	by := map[string]*Values{}
	var order []string
	for _, h := range m.tree {
		for _, top := range tops {
			dirs := []string{filepath.Join(h.dir, top)}
			if uid != "" {
				all, err := below(dirs[0])
				if err != nil {
					return nil, err
				}
				dirs = all
			}
			for _, dir := range dirs {
				rel := strings.TrimPrefix(dir, h.dir)
				if _, err := os.Stat(dir); err != nil {
					continue
				}
				if by[rel] == nil {
					by[rel] = &Values{Path: path.Clean("/" + rel), Files: map[string]string{}}
					order = append(order, rel)
				}
				by[rel].read(dir)
			}
		}
	}
	slices.Sort(order)
	var out []Values
	for _, rel := range order {
		out = append(out, *by[rel])
	}
	return out, nil
}

// read adds the values of one hierarchy.
func (v *Values) read(dir string) {
	for _, name := range told {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			v.Files[name] = strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), ", ")
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err == nil {
		v.Processes = max(v.Processes, len(strings.Fields(string(text))))
	}
}
