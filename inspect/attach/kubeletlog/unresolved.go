package kubeletlog

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// unresolvedKey is the key of a pod's wait until the kubelet knows what a volume of its spec is.
const unresolvedKey = "unresolved "

// unresolved is a volume of a pod's spec that the kubelet cannot begin with, as one whose claim is not bound. It tries again ten times per
// second, and writes a line each time: it is one wait, and one line per second is kept. A pod that has started has its volumes.
func (f *Fold) unresolved(e *klog.Entry, at int64) bool {
	p, name := f.podOf(e), trace.Clip(e.Get("volumeName"), 253)
	if p == nil || name == "" || p.started || p.ending {
		return false
	}
	key, err := unresolvedKey+name, trace.Clip(e.Get("err"), maxError)
	if v := p.volume(name, ""); p.waits[key] != nil && at-v.unresolved < int64(time.Second) {
		return true
	} else if v.unresolved = at; p.waits[key] != nil || len(p.waits) >= maxWaits {
		return false // it shows that the wait is ongoing
	}
	w := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetVolume, Name: name}}.WithCause(err)
	if strings.Contains(err, "PVC ") {
		w.Target.Kind = trace.TargetClaim
	}
	p.waits[key] = f.begin(p, p.above(), at, &w)
	return true
}

// resolves ends that where the kubelet begins with a volume. A claim's volume has the name of its PersistentVolume, so that of any ends the
// waits of the pod's claims: where another claim is waited for, its next line comes soon.
func (f *Fold) resolves(p *pod, name, plugin string, at int64) {
	f.endWaits(p, at, func(key string) bool {
		if !strings.HasPrefix(key, unresolvedKey) {
			return false
		}
		w, ok := p.waits[key].event.(*trace.Wait)
		return key == unresolvedKey+name || ok && w.Target.Kind == trace.TargetClaim && plugin != "" && !ofObjects(plugin)
	})
}

// dirsFailed is the error of a pod's directories.
func (f *Fold) dirsFailed(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	err := trace.Clip(e.Get("err"), maxError)
	f.was(p, p.sync, at, at, micros, &trace.Action{ID: "dirs", Verb: trace.VerbDirs, Err: err, Class: trace.Classify(err)})
	return true
}
