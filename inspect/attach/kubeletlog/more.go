package kubeletlog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// housekept is a round of the syncLoop's housekeeping.
func (f *Fold) housekept(e *klog.Entry, at int64) bool {
	d, err := time.ParseDuration(e.Get("duration"))
	if err != nil || d < 0 || d > 24*time.Hour {
		return false
	}
	f.node.loops++
	f.was(nil, nil, at-int64(d), at, micros, &trace.Loop{N: f.node.loops, Case: trace.LoopHousekeeping})
	return false
}

// cannotStart is a pod that waits for an earlier one of its name.
func (f *Fold) cannotStart(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	if p.waits[waitEarlier] == nil {
		p.waits[waitEarlier] = f.begin(p, nil, at, &trace.Wait{For: trace.WaitPod, Target: trace.Target{Kind: trace.TargetEarlierPod}})
	}
	return true
}

// waitEarlier is the key of a pod's wait for an earlier one of its name.
const waitEarlier = "earlier"

// relists is V5's begin of a look of the PLEG; its list is there with the next line of "Retrieved pods from runtime".
func (f *Fold) relists(_ *klog.Entry, at int64) bool {
	f.node.relist = at
	return true
}

func (f *Fold) listed(_ *klog.Entry, at int64) bool {
	if f.node.relist != 0 {
		f.was(nil, nil, f.node.relist, at, micros, &trace.PLEGRelist{Cause: trace.RelistPeriod})
		f.node.relist = 0
		return true
	}
	return false
}

// patched is a status that the API server has: the line comes right after its answer, so that the request's begin is not known.
func (f *Fold) patched(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil {
		return false
	}
	s := &trace.StatusPatch{Op: trace.PatchStatus, Err: trace.Clip(e.Get("err"), maxError)}
	s.Class = trace.Classify(s.Err)
	s.Version, _ = strconv.ParseUint(e.Get("statusVersion"), 10, 64)
	var status struct {
		Conditions []struct{ Type, Status string } `json:"conditions"`
	}
	if text := e.Get("status"); text != "" && json.Unmarshal([]byte(text), &status) == nil {
		for _, c := range status.Conditions {
			if c.Type == "Ready" && c.Status == "True" && !p.toldReady {
				p.toldReady = true
				s.Changed = append(s.Changed, trace.Change{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"})
			}
		}
	}
	f.was(p, nil, at, at, micros, s)
	return true
}

// nodeFailed is a write of the node's object that failed.
func (f *Fold) nodeFailed(e *klog.Entry, at int64) bool {
	f.was(nil, nil, at, at, micros, &trace.NodeStatus{Op: trace.NodePatch, Err: trace.Clip(e.Get("err"), maxError)})
	return true
}

// leaseFailed is a write of the node's lease that failed.
func (f *Fold) leaseFailed(e *klog.Entry, at int64) bool {
	err := trace.Clip(e.Get("err"), maxError)
	f.was(nil, nil, at, at, micros, &trace.APICall{Client: trace.ClientHeartbeat, Verb: trace.APIUpdate, Resource: "leases", Namespace: "kube-node-lease", Err: err, Class: trace.Classify(err)})
	return true
}

// imageGC begins where the kubelet says that the file system of images is too full; what it says of its end names neither.
func (f *Fold) imageGC(e *klog.Entry, at int64) bool {
	usage, _ := strconv.Atoi(e.Get("usage"))
	if f.node.gc == nil {
		f.node.gc = f.begin(nil, nil, at, &trace.GC{What: trace.GCImages, Usage: usage})
	}
	return true
}

func (f *Fold) imageGCEnds(e *klog.Entry, at int64) bool {
	if f.node.gc == nil {
		return false
	}
	done := trace.GC{What: trace.GCImages, Err: trace.Clip(e.Get("err"), maxError), Removed: f.node.removed}
	if b, ok := f.node.gc.event.(*trace.GC); ok {
		done.Usage = b.Usage
	}
	f.end(f.node.gc, at, micros, &done)
	f.node.gc, f.node.removed = nil, 0
	return true
}

// reclaiming is a node that is short of a resource. What the kubelet tries first is to remove images and containers: whether pods must go,
// another line says.
func (f *Fold) reclaiming(e *klog.Entry, at int64) bool {
	f.point(nil, at, micros, &trace.Decision{By: trace.ByPressure, Subject: firstOf(e.Get("resourceName"), "a resource"), Verdict: trace.VerdictShort, Reason: "the node is short of it"})
	return true
}

// resized is what becomes of a pod's request for other resources.
func resized(v trace.Verdict) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		p := f.podOf(e)
		if p == nil {
			return false
		}
		f.point(p, at, micros, &trace.Decision{By: trace.ByResize, Subject: p.id.String(), Verdict: v, Reason: trace.Clip(firstOf(e.Get("reason"), e.Get("message")), 1024)})
		return true
	}
}

// csi is a call to a CSI driver that begins; no line tells of its end, and none of its pod.
func csi(method string) func(*Fold, *klog.Entry, int64) bool {
	return func(f *Fold, e *klog.Entry, at int64) bool {
		f.point(nil, at, micros, &trace.CSICall{Method: method, Volume: e.Get("volID")})
		return true
	}
}

// probing is the begin of an attempt by exec; those by HTTP and TCP name no pod.
func (f *Fold) probing(e *klog.Entry, at int64) bool {
	p := f.podOf(e)
	if p == nil || e.Get("containerName") == "" {
		return false
	}
	p.container(e.Get("containerName")).probing = at
	return true
}

// ownership is how far the change of a volume's files to the pod's fsGroup has come: a line after 30 s, then one each minute.
var ownership = pattern.New(`^Setting volume ownership for (\S+/pods/([-0-9a-f]{8,64})/volumes/([^/\s]+)/([^/\s,]+)(?:/[^\s,]*)?)(?: and fsGroup set\.|, processed (\d{1,15}) files)`)

// ownershipAfter is after which time the first line comes.
const ownershipAfter = 30 * time.Second

func (f *Fold) ownershipChanges(msg string, at int64) bool {
	m := ownership.FindStringSubmatch(trace.Clip(msg, 4096))
	if m == nil {
		return false
	}
	p := f.unnamed(m[2])
	if p == nil {
		return false
	}
	v := p.volume(m[4], strings.Replace(m[3], "~", "/", 1))
	if v.mount == nil { // below V1 no line tells of its begin
		v.mount = f.beginAt(p, p.above(), at-int64(ownershipAfter), &trace.Volume{Op: trace.VolumeSetup, Name: v.name, Plugin: v.plugin})
	}
	if p.volumes == nil && p.later != nil && p.later.event == nil { // it is told of when it has ended: this one may not
		f.laterBegins(p)
	}
	files, _ := strconv.ParseInt(m[5], 10, 64)
	f.put(p, at, micros, trace.Record{Span: f.nextID(), Parent: v.mount.id, Event: &trace.VolumeProgress{Op: trace.VolumeFSGroup, Path: m[1], Files: files}})
	return true
}
