package kubeletlog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// room is what the kubelet terminates pods for, beside their deletion.
type room struct {
	by           trace.Decider
	code, reason string
}

var (
	forCritical = room{trace.ByPreemption, "Preempting", "resources are needed for a pod of higher priority"}
	forNode     = room{trace.ByEviction, "Evicted", "the node was short of a resource"}
)

// evicting is a pod that the kubelet begins to terminate: at V2 for another pod, at V3 until Kubernetes 1.33; at V3 for the node.
func evicting(r room) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		why := firstOf(strings.TrimRight(e.Get("message"), ". "), r.reason)
		if short := e.Get("insufficientResources"); short != "" && !strings.Contains(short, "{") { // until Kubernetes 1.33: a {} for each
			why += ": " + short
		}
		f.evicts(p, at, room{r.by, r.code, why})
		return true
	}
}

// evicts is the verdict on a pod that is terminated to make room. The kubelet decides this once for a pod.
func (f *Fold) evicts(p *pod, at int64, r room) {
	if p.evicted || p.gone {
		return
	}
	p.evicted = true
	f.point(p, at, micros, &trace.Decision{By: r.by, Subject: p.id.String(), Verdict: trace.VerdictEnd, Code: r.code, Reason: trace.Clip(r.reason, 1024)})
	f.ends(p, at)
}

// evicted is V0's line that the containers of such a pod have been killed.
func evicted(r room) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		f.evicts(p, at, r)
		p.stopped = true
		f.leaves(p, at)
		return true
	}
}

// leaves is a pod that ends, of which something has ended.
func (f *Fold) leaves(p *pod, at int64) {
	if p.ending && !p.gone {
		p.leftAt = at
		f.pods.leaving[p] = true
	}
}

// left says of a pod that nothing is left of it. Before Kubernetes 1.36, no line below V4 says so of a pod that was not deleted in the API: that
// is known by its containers, where the log has their starts or says that they were killed.
func (f *Fold) left(p *pod, now int64, all bool) {
	if p.gone || !p.ending || p.inAPI {
		delete(f.pods.leaving, p)
		return
	}
	wait := quiet
	if all {
		wait = 2 * time.Second
	}
	if now-p.leftAt < int64(wait) {
		return
	}
	if !p.stopped && (len(p.lives) == 0 || p.runs()) || p.unmount != nil {
		return
	}
	for _, v := range p.vols {
		if v.unmount != nil || v.stuck != 0 {
			return
		}
	}
	delete(f.pods.leaving, p)
	f.isGone(p, p.leftAt, relist)
}

// runs reports whether a container or the sandbox runs, or is being killed.
func (p *pod) runs() bool {
	for _, alive := range p.lives {
		if alive {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(p.containers)), func(c *container) bool { return c.kill != nil })
}
