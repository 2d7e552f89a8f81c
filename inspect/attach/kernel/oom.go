package kernel

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// oomKills is the kernel's count of processes that it has killed because they were out of memory, in the figures of the machine or of a cgroup's
// memory; false where it has none. Upstream: mm/memcontrol.c and mm/vmstat.c, since Linux 4.13.
func oomKills(figures []byte) (n int64, ok bool) {
	for line := range bytes.Lines(figures) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if string(key) != "oom_kill" {
			continue
		}
		n, err := strconv.ParseInt(string(value), 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}

// oomFile has the kills of a cgroup.
func (h *hierarchy) oomFile(dir string) string {
	if h.v2 {
		return path.Join(dir, "memory.events")
	}
	return path.Join(h.memory, strings.TrimPrefix(dir, h.cpu), "memory.oom_control")
}

// name is a cgroup's path below the mount.
func (h *hierarchy) name(dir string) string { return strings.TrimPrefix(dir, h.mount) }

// killedSince is how many processes of a cgroup were killed since the last call. What was before the first call of a cgroup that was found, not
// new, does not count. It returns false where the cgroup is gone.
func (c *limited) killedSince(h *hierarchy) (n int, ok bool) {
	b, err := text(h.oomFile(c.dir), maxText)
	if err != nil {
		return 0, false
	}
	now, ok := oomKills(b)
	if !ok {
		return 0, false
	}
	was, counted := c.kills, c.counted
	c.kills, c.counted = now, true
	if !counted {
		return 0, true
	}
	return int(min(max(0, now-was), maxKills)), true
}

// maxKills bounds a count of kills.
const maxKills = 1 << 20

// kills are the kernel's kills in the cgroups that are followed, since the last call. With cgroup v2, a pod's count includes those of containers
// that are gone. With v1 it does not: there, a container that ends with its main process is seldom seen. It is for the goroutine of look.
func (l *limits) kills(h *hierarchy) (out []trace.OOMKill) {
	for _, p := range l.pods {
		rest, _ := p.killedSince(h)
		var gone []string
		for id, c := range p.containers {
			n, ok := c.killedSince(h)
			if !ok {
				gone = append(gone, id)
			}
			if rest -= n; n > 0 {
				out = append(out, trace.OOMKill{Container: id, Cgroup: h.name(c.dir), Kills: n})
			}
		}
		if rest <= 0 {
			continue
		}
		e := trace.OOMKill{Cgroup: h.name(p.dir), Kills: rest}
		if len(gone) == 1 {
			e.Container = gone[0]
		}
		out = append(out, e)
	}
	sorting.Stable(out, func(a, b *trace.OOMKill) int { return strings.Compare(a.Cgroup, b.Cgroup) })
	return out
}

// outOfMemory tells of the kernel's kills in the cgroups of pods. It reads their counts only when that of the machine has grown, and once at the
// beginning.
func (k *Kernel) outOfMemory(h *hierarchy, machine []byte, now time.Time) {
	n, ok := oomKills(machine)
	if !ok || k.limits.round == 0 || k.oomRead && n == k.oomSeen {
		return
	}
	k.oomRead, k.oomSeen = true, n
	for _, e := range k.limits.kills(h) {
		k.put(trace.Record{Time: now.UnixNano(), Span: trace.NewSpanID(), Precision: trace.PrecisionOf(limitsEvery), Event: &e})
	}
}

// ofPod completes a kill that was read from a cgroup: whose it is, as others know.
func (k *Kernel) ofPod(r *trace.Record, e *trace.OOMKill) {
	if r.Observer != trace.ObserverKernel {
		return
	}
	for dir := range strings.SplitSeq(e.Cgroup, "/") {
		uid := podUID(dir)
		if uid == "" {
			continue
		}
		if r.Pod.Name == "" {
			r.Pod, r.Trace = k.known.of(uid)
		}
		if name := k.limits.nameOf(uid, e.Container); name != "" && e.Name == "" {
			with := *e
			with.Name = name
			r.Event = &with
		}
	}
}
