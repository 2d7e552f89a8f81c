// Package snapshot says what there is of one pod on the node: directories,
// mounts, cgroups and their values, processes, its network namespace with interfaces, addresses and
// routes, and what the runtime has.
//
// It owns nothing and changes nothing: it reads the file system and asks the
// runtime. It runs no goroutine and publishes nothing.
package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
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
	// ProcMount is /proc, or another place in tests; empty is /proc.
	ProcMount string
	// Runtime may be nil.
	Runtime Runtime
}

// Taker takes snapshots.
type Taker struct{ cfg Config }

// New returns a taker.
func New(cfg Config) *Taker {
	cfg.ProcMount = cmp.Or(cfg.ProcMount, "/proc")
	return &Taker{cfg}
}

// Snapshot implements step.Snapshotter: one line for each thing, in a stable order. A
// pod without a UID has nothing: what is on the node is known by it.
func (t *Taker) Snapshot(ctx context.Context, pod trace.Pod) []string {
	if pod.UID == "" {
		return nil
	}
	var out, ids []string
	out = append(out, files("", filepath.Join(t.cfg.RootDir, "pods", pod.UID))...)
	out = append(out, files("log ", filepath.Join(t.cfg.LogsDir, pod.Namespace+"_"+pod.Name+"_"+pod.UID))...)
	groups := t.find(pod.UID)
	out = append(out, groups.lines()...)
	pids := groups.pids()
	out = append(out, t.processes(pids)...)
	if t.cfg.Runtime != nil {
		var lines []string
		lines, ids = t.cfg.Runtime(ctx, pod)
		out = append(out, lines...)
	}
	out = append(out, t.network(pids)...)
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
