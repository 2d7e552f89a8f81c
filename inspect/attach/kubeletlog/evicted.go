package kubeletlog

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// room is what the kubelet terminates pods for, beside their deletion: for others, for the node, or all of them.
type room struct {
	by           trace.Decider
	code, reason string
	inputs       []trace.KV
}

var (
	forCritical = room{by: trace.ByPreemption, code: "Preempting", reason: "resources are needed for a pod of higher priority"}
	forNode     = room{by: trace.ByEviction, code: "Evicted", reason: "the node was short of a resource"}
	forShutdown = room{by: trace.ByShutdown, code: "Terminated", reason: "the node is shutting down"}
)

// evicting is a pod that the kubelet begins to terminate: at V1 because the node shuts down; at V2 for another pod, at V3 until Kubernetes
// 1.33; at V3 because the node is short of something.
func evicting(r room) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		r := r
		r.reason = firstOf(strings.TrimRight(e.Get("message"), ". "), r.reason)
		if short := e.Get("insufficientResources"); short != "" && !strings.Contains(short, "{") { // until Kubernetes 1.33: a {} for each
			r.reason += ": " + short
		}
		if grace, err := strconv.ParseUint(e.Get("gracePeriod"), 10, 32); err == nil {
			r.inputs = []trace.KV{{K: "grace", V: strconv.FormatUint(grace, 10) + "s"}}
		}
		f.evicts(p, at, r)
		return true
	}
}

// evicts is the verdict on a pod that is terminated. The kubelet decides this once for a pod.
func (f *Fold) evicts(p *pod, at int64, r room) {
	if p.evicted || p.gone {
		return
	}
	p.evicted = true
	f.point(p, at, micros, &trace.Decision{By: r.by, Subject: p.id.String(), Verdict: trace.VerdictEnd, Code: r.code, Reason: trace.Clip(r.reason, 1024), Inputs: r.inputs})
	f.ends(p, at)
}

// evicted is the line that the containers of such a pod have been killed: at V0, of a shutdown at V1.
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
