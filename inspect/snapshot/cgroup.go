package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is one directory of a pod's cgroups.
type group struct {
	path  string // from the root of its hierarchy
	full  string
	child string // "" for the pod's own cgroup, else the name of its child
}

// groups are a pod's cgroups, in all hierarchies.
type groups []group

// find returns the pod's cgroup and its children, in each hierarchy.
func (t *Taker) find(uid string) groups {
	if t.cfg.CgroupMount == "" {
		return nil
	}
	bases := []string{t.cfg.CgroupMount}
	if entries, err := os.ReadDir(t.cfg.CgroupMount); err == nil {
		for _, e := range entries {
			if e.IsDir() {
				bases = append(bases, filepath.Join(t.cfg.CgroupMount, e.Name()))
			}
		}
	}
	var out groups
	for _, base := range bases {
		for _, rel := range t.podCgroups(uid) {
			full := filepath.Join(base, rel)
			subs, err := os.ReadDir(full)
			if err != nil {
				continue
			}
			out = append(out, group{path: rel, full: full})
			for _, s := range subs {
				if s.IsDir() {
					out = append(out, group{path: filepath.Join(rel, s.Name()), full: filepath.Join(full, s.Name()), child: s.Name()})
				}
			}
		}
	}
	return out
}

// podCgroups returns the possible paths of a pod's cgroup: in each QoS class, for the cgroupfs and the systemd driver.
func (t *Taker) podCgroups(uid string) []string {
	var out []string
	for _, tier := range []string{"", "burstable", "besteffort"} {
		plain := filepath.Join("/", t.cfg.CgroupRoot, "kubepods", tier, "pod"+uid)
		slice, unit := "/", ""
		for part := range strings.SplitSeq(plain[1:], "/") {
			unit += strings.ReplaceAll(part, "-", "_")
			slice = filepath.Join(slice, unit+".slice")
			unit += "-"
		}
		out = append(out, plain, slice)
	}
	return out
}

// lines shows each cgroup once, with the number of hierarchies, then the values that are set.
func (gs groups) lines() []string {
	where := map[string]int{}
	for _, g := range gs {
		where[g.path]++
	}
	var out, values []string
	for path, n := range where {
		if n > 1 {
			out = append(out, fmt.Sprintf("cgroup %s (in %d hierarchies)", path, n))
		} else {
			out = append(out, "cgroup "+path)
		}
	}
	for _, g := range gs {
		values = append(values, g.values()...)
	}
	slices.Sort(out)
	if len(out) > maxEntries {
		out = append(out[:maxEntries], more("cgroups"))
	}
	if len(values) > maxEntries {
		values = append(values[:maxEntries], more("values of cgroups"))
	}
	return append(out, values...)
}

// valueFiles contain limits of a cgroup or statistics, in either version.
var valueFiles = []string{
	"cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes", "memory.soft_limit_in_bytes", "memory.failcnt", "freezer.state",
	"cpu.weight", "cpu.max", "memory.min", "memory.low", "memory.high", "memory.max", "memory.swap.max", "memory.oom.group", "io.weight", "cgroup.freeze",
	"pids.max", "cpuset.cpus", "cpuset.mems", "hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes",
}

// unset are default values, which are not shown.
var unset = map[string][]string{
	"memory.min": {"0"}, "memory.low": {"0"}, "memory.high": {"max"}, "memory.swap.max": {"max"}, "memory.oom.group": {"0"}, "io.weight": {"default 100"},
	"cgroup.freeze": {"0"}, "memory.failcnt": {"0"}, "freezer.state": {"THAWED"}, "cpuset.cpus": {""}, "cpuset.mems": {""}, "hugetlb.2MB.max": {"max"},
	"memory.soft_limit_in_bytes": {"9223372036854771712"}, "hugetlb.2MB.limit_in_bytes": {"9223372036854771712", "9223372036852678656"},
}

// values returns the values of one cgroup that are set.
func (g group) values() []string {
	of := ""
	if g.child != "" {
		of = shorten(g.child) + " "
	}
	var out []string
	for _, f := range valueFiles {
		p, err := os.ReadFile(filepath.Join(g.full, f))
		v := strings.ReplaceAll(strings.TrimSpace(string(p)), "\n", " ")
		if err == nil && !slices.Contains(unset[f], v) {
			out = append(out, "cgroup "+of+f+" = "+v)
		}
	}
	return out
}

// shorten truncates container ids in names.
func shorten(name string) string {
	if len(name) > 40 {
		return name[:12]
	}
	return name
}

// pids returns the processes in the cgroups, each once, with the name of its cgroup.
func (gs groups) pids() map[int]string {
	out := map[int]string{}
	for _, g := range gs {
		p, err := os.ReadFile(filepath.Join(g.full, "cgroup.procs"))
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(p)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				out[pid] = shorten(g.child)
			}
		}
	}
	return out
}
