package kubeletlog

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

var orphanUID = pattern.New(`[Oo]rphaned pod \\?"([-0-9a-f]{8,64})\\?" found, but (.+)`)

// leftVolume is the volume in a path below a pod's directory.
var leftVolume = pattern.New(`/pods/[^/]+/volumes/[^/]+/([^/\s"]+)`)

// orphan is a directory of a pod that nobody knows any more, and that cannot be removed.
func (f *Fold) orphan(e *klog.Entry, at int64) bool {
	uid, why := e.Get("podUID"), firstOf(e.Get("err"), e.Msg)
	if m := orphanUID.FindStringSubmatch(firstOf(e.Get("err"), e.Msg)); m != nil {
		uid, why = m[1], m[2]
	} else if uid == "" || e.Get("err") == "" {
		return false
	}
	p := f.unnamed(uid)
	if p == nil {
		return false
	}
	f.ends(p, at)
	f.kept(p, uid, why, at)
	return true
}

// kept says that a pod's directory stays. The verdict is not the pod's own, as ours is not.
func (f *Fold) kept(p *pod, uid, why string, at int64) {
	p.kept = true
	d := &trace.Decision{By: trace.ByOrphans, Subject: "pod " + uid, Verdict: trace.VerdictKeep, Reason: why, Orphan: uid}
	if m := leftVolume.FindStringSubmatch(why); m != nil {
		d.Volume = m[1]
	}
	f.point(nil, at+1, micros, d)
}

// orphanedFor is how long volumes stay mounted after nobody knows the pod any more until that is worth a word: the kubelet looks every two
// seconds, and volumes that it has to learn of, as after its start, take a while to go.
const orphanedFor = 10 * time.Second

// leftMounted is what is mounted in the directory of a pod; V3's line, which follows, says that nobody knows the pod.
func (f *Fold) leftMounted(e *klog.Entry, _ int64) bool {
	if p := f.unnamed(e.Get("podUID")); p != nil {
		p.mounts = trace.Clip(e.Get("paths"), maxError)
	}
	return false
}

// orphanStays is a pod's directory in which something is mounted.
func (f *Fold) orphanStays(e *klog.Entry, at int64) bool {
	uid := e.Get("podUID")
	if e.Get("err") != "" {
		return f.orphan(e, at)
	}
	p := f.unnamed(uid)
	switch {
	case p == nil || p.kept:
		return false
	case p.orphaned == 0:
		p.orphaned = at
	case at-p.orphaned >= int64(orphanedFor):
		f.ends(p, at)
		f.kept(p, uid, strings.TrimSpace("volumes are still mounted "+p.mounts), at)
	}
	return false
}

// orphanGone is a pod's directory that could be removed.
func (f *Fold) orphanGone(e *klog.Entry, at int64) bool {
	p := f.ofUID(e.Get("podUID"))
	if p == nil {
		return false
	}
	p.orphaned = 0
	if p.kept {
		p.kept = false
		f.point(nil, at, micros, &trace.Decision{By: trace.ByOrphans, Subject: "pod " + e.Get("podUID"), Verdict: trace.VerdictRemove, Orphan: e.Get("podUID")})
	}
	return false
}
