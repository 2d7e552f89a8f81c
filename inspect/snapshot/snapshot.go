// Package snapshot lists everything of one pod that exists on the node: directories, mounts, cgroups and their values, processes,
// its network namespace with interfaces, addresses and routes, and its objects in the runtime.
//
// It owns nothing and changes nothing: it reads the file system and calls the runtime. It runs no goroutine and publishes nothing.
package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxEntries is the maximum number of lines for each kind of object, so that a pod with a large volume stays readable.
const maxEntries = 64

// Runtime lists a pod's objects in the runtime: a line for each sandbox and container, and the ids that identify their mounts.
type Runtime func(ctx context.Context, pod trace.Pod) (lines, ids []string)

// Config is the configuration of a Taker.
type Config struct {
	// RootDir is the kubelet's root directory, LogsDir the one of pod logs.
	RootDir, LogsDir string
	// CgroupMount is /sys/fs/cgroup, CgroupRoot the agent's root in it; an empty mount skips cgroups.
	CgroupMount, CgroupRoot string
	// ProcMount is /proc, or another directory in tests; empty means /proc.
	ProcMount string
	// Runtime may be nil.
	Runtime Runtime
}

// Taker takes snapshots.
type Taker struct{ cfg Config }

// New returns a Taker.
func New(cfg Config) *Taker {
	cfg.ProcMount = cmp.Or(cfg.ProcMount, "/proc")
	return &Taker{cfg}
}

// Snapshot implements step.Snapshotter: one line for each thing, in a stable order. A pod without a UID has nothing, because the
// UID identifies its objects on the node.
func (t *Taker) Snapshot(ctx context.Context, pod trace.Pod) []string {
	if pod.UID == "" {
		return nil
	}
	all, err := mountinfo.GetMounts(nil)
	if err != nil {
		return []string{"mounts are not known: " + err.Error()}
	}
	var out, ids []string
	out = append(out, files("", filepath.Join(t.cfg.RootDir, "pods", pod.UID), foreign(all))...)
	out = append(out, files("log ", filepath.Join(t.cfg.LogsDir, pod.Namespace+"_"+pod.Name+"_"+pod.UID), foreign(all))...)
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
	return append(out, mounts(all, append(ids, pod.UID))...)
}

// files lists a directory and what is below it, four levels deep. Containers write what is in volumes: of each directory
// only so much is read as is shown, no link is followed, and foreign file systems, which may not answer, are not entered.
func files(what, root string, foreign map[string]bool) []string {
	var out []string
	resolved, _ := filepath.EvalSymlinks(root) // as the kernel names mount points
	var add func(path string, dir bool, depth int)
	add = func(path string, dir bool, depth int) {
		switch {
		case len(out) > maxEntries:
		case len(out) == maxEntries:
			out = append(out, more(what+"files"))
		case !dir:
			out = append(out, what+"file "+path)
		default:
			out = append(out, what+"dir "+path+"/")
			if depth == maxDepth || foreign[resolved+strings.TrimPrefix(path, root)] {
				return
			}
			for _, e := range entries(path) {
				add(filepath.Join(path, e.Name()), e.IsDir(), depth+1)
			}
		}
	}
	if info, err := os.Lstat(root); err == nil {
		add(root, info.IsDir(), 0)
	}
	return out
}

const maxDepth = 4

// entries are some of a directory's, in order; none of what cannot be read.
func entries(dir string) []fs.DirEntry {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()     // it was only read
	list, _ := f.ReadDir(maxEntries + 1) // a best effort
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// foreign are the mount points of all but memory.
func foreign(all []*mountinfo.Info) map[string]bool {
	out := map[string]bool{}
	for _, m := range all {
		if m.FSType != "tmpfs" {
			out[m.Mountpoint] = true
		}
	}
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
