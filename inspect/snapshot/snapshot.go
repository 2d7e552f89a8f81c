// Package snapshot says what there is of one pod on the node: directories,
// mounts, cgroups, its network namespace, and what the runtime has.
//
// It owns nothing and changes nothing: it reads the file system and asks the
// runtime. It runs no goroutine and publishes nothing.
package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxEntries bounds each kind of thing, so that a pod with a large volume stays readable.
const maxEntries = 64

// Runtime says what the runtime has of a pod: a line for each sandbox and container,
// and the ids by which their mounts are known.
type Runtime func(ctx context.Context, pod trace.Pod) (lines, ids []string)

// Config says where to look.
type Config struct {
	// RootDir is the kubelet's root directory, LogsDir the one of pod logs.
	RootDir, LogsDir string
	// CgroupMount is /sys/fs/cgroup, CgroupRoot the agent's root in it; an empty mount skips cgroups.
	CgroupMount, CgroupRoot string
	// Runtime may be nil.
	Runtime Runtime
}

// Taker takes snapshots.
type Taker struct{ cfg Config }

// New returns a taker.
func New(cfg Config) *Taker { return &Taker{cfg} }

// Snapshot implements step.Snapshotter: one line for each thing, in a stable order. A
// pod without a UID has nothing: what is on the node is known by it.
func (t *Taker) Snapshot(ctx context.Context, pod trace.Pod) []string {
	if pod.UID == "" {
		return nil
	}
	var out, ids []string
	out = append(out, files("", filepath.Join(t.cfg.RootDir, "pods", pod.UID))...)
	out = append(out, files("log ", filepath.Join(t.cfg.LogsDir, pod.Namespace+"_"+pod.Name+"_"+pod.UID))...)
	out = append(out, t.cgroups(pod.UID)...)
	if t.cfg.Runtime != nil {
		var lines []string
		lines, ids = t.cfg.Runtime(ctx, pod)
		out = append(out, lines...)
	}
	all, err := mountinfo.GetMounts(nil)
	if err != nil {
		return append(out, "mounts are not known: "+err.Error())
	}
	return append(out, mounts(all, append(ids, pod.UID))...)
}

// files lists a directory and what is below it, four levels deep.
func files(what, root string) []string {
	var out []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not shown
		}
		if len(out) >= maxEntries {
			out = append(out, more(what+"files"))
			return filepath.SkipAll
		}
		if d.IsDir() {
			out = append(out, what+"dir "+path+"/")
		} else {
			out = append(out, what+"file "+path)
		}
		if rel, _ := filepath.Rel(root, path); d.IsDir() && strings.Count(rel, string(filepath.Separator)) >= 3 {
			return filepath.SkipDir
		}
		return nil
	})
	return out
}

// more says that a kind of thing is not shown in full.
func more(what string) string {
	return fmt.Sprintf("%s: more than the %d that are shown", what, maxEntries)
}

// cgroups finds the pod's cgroup in each hierarchy and shows it once, with the
// number of hierarchies and the limits that are set.
func (t *Taker) cgroups(uid string) []string {
	if t.cfg.CgroupMount == "" {
		return nil
	}
	where := map[string]int{}
	var limits []string
	bases := []string{t.cfg.CgroupMount}
	if entries, err := os.ReadDir(t.cfg.CgroupMount); err == nil {
		for _, e := range entries {
			if e.IsDir() {
				bases = append(bases, filepath.Join(t.cfg.CgroupMount, e.Name()))
			}
		}
	}
	for _, base := range bases {
		for _, rel := range t.podCgroups(uid) {
			full := filepath.Join(base, rel)
			if _, err := os.Stat(full); err != nil {
				continue
			}
			where[rel]++
			limits = append(limits, limitsOf(full)...)
			if subs, err := os.ReadDir(full); err == nil {
				for _, s := range subs {
					if s.IsDir() {
						where[filepath.Join(rel, s.Name())]++
					}
				}
			}
		}
	}
	var out []string
	for path, n := range where {
		if n > 1 {
			out = append(out, fmt.Sprintf("cgroup %s (in %d hierarchies)", path, n))
		} else {
			out = append(out, "cgroup "+path)
		}
	}
	slices.Sort(out)
	if len(out) > maxEntries {
		out = append(out[:maxEntries], more("cgroups"))
	}
	return append(out, limits...)
}

// podCgroups are the paths at which a pod's cgroup may be: of any QoS class, spelled
// plainly or as the slices of systemd.
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

// limitsOf reads the files by which a pod is limited, in either version of cgroups.
func limitsOf(dir string) []string {
	var out []string
	for _, f := range []string{
		"cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes", "pids.max", "cpu.weight", "cpu.max", "memory.max",
	} {
		if p, err := os.ReadFile(filepath.Join(dir, f)); err == nil {
			out = append(out, "cgroup "+f+" = "+strings.TrimSpace(string(p)))
		}
	}
	return out
}

// mounts lists the mount points that name one of the ids.
func mounts(all []*mountinfo.Info, ids []string) []string {
	var out []string
	for _, m := range all {
		if slices.ContainsFunc(ids, func(id string) bool { return id != "" && strings.Contains(m.Mountpoint, id) }) {
			out = append(out, fmt.Sprintf("mount %s %s", m.FSType, m.Mountpoint))
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxEntries {
		out = append(out[:maxEntries], more("mounts"))
	}
	return out
}
