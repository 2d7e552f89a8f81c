package kernel

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// orphansEvery is how often the pods' directories are looked at, orphanedFor how long one stays without a pod until that is worth a word: the
	// kubelet removes such directories every two seconds, and names its pods again when it tries again.
	orphansEvery = 5 * time.Second
	orphanedFor  = 30 * time.Second
	// maxKnown bounds the pods that are known. Beyond it nothing is said of directories.
	maxKnown = 1 << 13
	// maxLeft bounds what is named of a directory.
	maxLeft = 8
	// nowhere is the namespace of a pod of which only the UID is known.
	nowhere = "_"
)

// pod is what a pod is called.
type pod struct {
	pod   trace.Pod
	trace trace.TraceID
}

// known are the UIDs of pods that somebody else knows. It is safe for use by several goroutines.
type known struct {
	mu   sync.Mutex
	pods map[string]pod // by UID
	full bool
}

// see learns of pods from records of others.
func (n *known) see(r *trace.Record) {
	uid := r.Pod.UID
	if uid == "" || r.Pod.Namespace == nowhere || r.Observer == trace.ObserverKernel {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneGone {
		delete(n.pods, uid)
		return
	}
	if n.full = n.full || len(n.pods) >= maxKnown; !n.full {
		n.pods[uid] = pod{r.Pod, r.Trace}
	}
}

// without forgets the pods that have no directory, once many are known: of most pods, records come after they are gone, too.
func (n *known) without(dirs []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pods) < maxKnown/2 {
		return
	}
	there := make(map[string]bool, len(dirs))
	for _, uid := range dirs {
		there[uid] = true
	}
	maps.DeleteFunc(n.pods, func(uid string, _ pod) bool { return !there[uid] })
}

// of is what the pod with a UID is called; no pod where that is not known.
func (n *known) of(uid string) (trace.Pod, trace.TraceID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pods[uid].pod, n.pods[uid].trace
}

// has reports whether a pod is known, or may be.
func (n *known) has(uid string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.pods[uid]
	return n.full || ok
}

// orphan is a pod's directory without a pod.
type orphan struct {
	since time.Time
	left  string // what is said of it; "" is nothing yet
}

// orphans looks for directories of pods that nobody knows, until ctx ends. A directory counts while the pod has no cgroup, and no observer
// told of the pod: what of its volumes is there then, the kubelet should have removed.
func (k *Kernel) orphans(ctx context.Context) error {
	if k.cfg.RootDir == "" {
		return nil
	}
	t := time.NewTicker(orphansEvery)
	defer t.Stop()
	found := map[string]*orphan{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			k.lookForOrphans(found, now)
		}
	}
}

// lookForOrphans looks once. Without cgroups of pods nobody can tell.
func (k *Kernel) lookForOrphans(found map[string]*orphan, now time.Time) {
	all, err := names(path.Join(k.cfg.Files, k.cfg.RootDir, "pods"))
	if err != nil {
		return
	}
	if k.known.without(all); !k.seenCgroups.Load() {
		return
	}
	for uid, o := range found {
		if slices.Contains(all, uid) && !k.known.has(uid) && !k.limits.has(uid) {
			continue
		}
		if delete(found, uid); o.left != "" {
			k.judge(uid, trace.VerdictRemove, "", "its directory is gone, or somebody knows the pod", now)
		}
	}
	for _, uid := range all {
		if podUID("pod"+uid) != uid && !strings.HasPrefix(uid, "static-") || k.known.has(uid) || k.limits.has(uid) {
			continue
		}
		o := found[uid]
		if o == nil && len(found) < maxPods {
			o = &orphan{since: now}
			found[uid] = o
		}
		if o == nil || now.Sub(o.since) < orphanedFor {
			continue
		}
		volume, left := k.leftOf(uid)
		if left == "" || left == o.left {
			continue
		}
		if o.left == "" {
			k.put(trace.Record{
				Time: now.UnixNano(), Span: trace.NewSpanID(), Precision: trace.PrecisionOf(orphansEvery), Pod: trace.Pod{Namespace: nowhere, Name: uid, UID: uid},
				Event: &trace.Milestone{Name: trace.MilestoneTerminating},
			})
		}
		o.left = left
		k.judge(uid, trace.VerdictKeep, volume, left, now)
	}
}

// judge tells of a directory. The verdict is not the pod's own: nobody knows the pod.
func (k *Kernel) judge(uid string, v trace.Verdict, volume, why string, now time.Time) {
	k.put(trace.Record{Time: now.UnixNano() + 1, Span: trace.NewSpanID(), Precision: trace.PrecisionOf(orphansEvery), Event: &trace.Decision{
		By: trace.ByOrphans, Subject: "pod " + uid, Verdict: v, Reason: why, Orphan: uid, Path: path.Join(k.cfg.RootDir, "pods", uid), Volume: volume,
	}})
}

// leftOf is what of a pod's volumes is there: the name on disk of the first one, and what is mounted, or which directories there are.
func (k *Kernel) leftOf(uid string) (volume, left string) {
	mark := "/pods/" + uid + "/"
	mounts, err := k.mounts(func(m *mountinfo.Info) (skip, stop bool) { return !strings.Contains(m.Mountpoint, mark), false })
	if err != nil {
		return "", ""
	}
	var at []string
	for _, m := range mounts {
		_, below, _ := strings.Cut(m.Mountpoint, mark)
		at = append(at, fmt.Sprintf("%s (%s)", below, m.FSType))
		if part := strings.Split(below, "/"); volume == "" && len(part) > 2 && part[0] == "volumes" {
			volume = part[2]
		}
	}
	if len(at) > 0 {
		return volume, fmt.Sprintf("no cgroup of the pod is left, nobody tells of it, and mounted below are %s", few(at))
	}
	dir := path.Join(k.cfg.Files, k.cfg.RootDir, "pods", uid, "volumes")
	plugins, _ := names(dir) // it may go
	slices.Sort(plugins)
	for _, plugin := range plugins {
		all, _ := names(path.Join(dir, plugin)) // it may go
		slices.Sort(all)
		for _, name := range all {
			at = append(at, path.Join("volumes", plugin, name))
			if volume == "" {
				volume = name
			}
		}
	}
	if len(at) == 0 {
		return "", ""
	}
	return volume, fmt.Sprintf("no cgroup of the pod is left, nobody tells of it, and these directories of volumes are there: %s", few(at))
}

// few names the first of several.
func few(all []string) string {
	if more := len(all) - maxLeft; more > 0 {
		return trace.Clip(strings.Join(all[:maxLeft], ", "), 1024) + fmt.Sprintf(" and %d more", more)
	}
	return trace.Clip(strings.Join(all, ", "), 1024)
}
