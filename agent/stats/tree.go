package stats

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxFile limits what is read of a file of the kernel, in bytes. The largest lists processes or devices; a longer one is unknown.
const maxFile = 1 << 20

// top is the path of the root cgroup: the node's.
const top = "/"

// tree has the files of cgroups, of cgroup v1 or v2. Paths are below the root of each hierarchy, such as
// /kubepods/burstable.
type tree struct {
	root string
	v2   bool
}

func newTree(root string) tree {
	_, err := os.Lstat(filepath.Join(root, "cgroup.controllers"))
	return tree{root: root, v2: err == nil}
}

// dirs are the directories where a controller's hierarchy may be mounted. cgroup v2 has one for all.
func (t tree) dirs(controller string) []string {
	switch {
	case t.v2:
		return []string{t.root}
	case controller == "cpu" || controller == "cpuacct":
		return []string{filepath.Join(t.root, controller), filepath.Join(t.root, "cpu,cpuacct")}
	}
	return []string{filepath.Join(t.root, controller)}
}

// text returns the content of a cgroup's file; false if there is none.
func (t tree) text(controller, path, file string) (string, bool) {
	for _, dir := range t.dirs(controller) {
		if text, ok := text(filepath.Join(dir, path, file)); ok {
			return text, true
		}
	}
	return "", false
}

// number returns the number in a cgroup's file; false if there is none, for example for max.
func (t tree) number(controller, path, file string) (uint64, bool) {
	text, ok := t.text(controller, path, file)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// fields parses a cgroup's file of names and numbers; empty if there is none.
func (t tree) fields(controller, path, file string) map[string]uint64 {
	text, _ := t.text(controller, path, file)
	return fieldsOf(text)
}

// has reports whether a cgroup exists.
func (t tree) has(path string) bool {
	controllers := []string{"memory", "cpu", "pids"}
	if t.v2 {
		controllers = controllers[:1]
	}
	for _, controller := range controllers {
		for _, dir := range t.dirs(controller) {
			if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
				return true
			}
		}
	}
	return false
}

// made returns since when a cgroup exists, as far as its directory says; the zero time if there is none.
func (t tree) made(path string) time.Time {
	for _, dir := range t.dirs("memory") {
		if info, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// memoryLimit returns a cgroup's limit in bytes; false if it has none.
func (t tree) memoryLimit(path string) (uint64, bool) {
	file := "memory.limit_in_bytes"
	if t.v2 {
		file = "memory.max"
	}
	n, ok := t.number("memory", path, file)
	return n, ok && n < unlimited
}

// swap returns how much swap a cgroup uses, in bytes; false if that is not counted.
func (t tree) swap(path string) (uint64, bool) {
	if path == "" {
		return 0, false
	}
	if t.v2 {
		return t.number("memory", path, "memory.swap.current")
	}
	n, ok := t.fields("memory", path, "memory.stat")["total_swap"]
	return n, ok
}

// swapLimit returns how much swap a cgroup may use, in bytes; false if it has no limit. On cgroup v1, the limit of swap is what the limit of
// memory and swap is larger than that of memory.
func (t tree) swapLimit(path string) (uint64, bool) {
	if t.v2 {
		return t.number("memory", path, "memory.swap.max")
	}
	memory, limited := t.memoryLimit(path)
	both, ok := t.number("memory", path, "memory.memsw.limit_in_bytes")
	return less(both, memory), ok && limited && both < unlimited
}

// unlimited is the least value that cgroup v1 shows for no limit, in bytes: which one depends on the size of pages.
const unlimited = 1 << 62

// container returns the cgroup of a container, in that of its pod; "" if that is unknown. Runtimes name it by its ID: with
// systemd, a scope in the pod's slice.
func (t tree) container(pod, id string) string {
	if pod == "" {
		return ""
	}
	names := []string{id, "crio-" + id}
	if strings.HasSuffix(pod, ".slice") {
		names = []string{"cri-containerd-" + id + ".scope", "crio-" + id + ".scope", "docker-" + id + ".scope"}
	}
	for _, name := range names {
		if at := filepath.Join(pod, name); t.has(at) {
			return at
		}
	}
	return filepath.Join(pod, names[0])
}

// text returns the content of a file of the kernel; false if it cannot be read or is longer than maxFile.
func text(file string) (string, bool) {
	raw, err := wholefile.Read(file, maxFile)
	return string(raw), err == nil
}

// fieldsOf parses lines of names and numbers, and ignores others.
func fieldsOf(text string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out
}
