package otlp

import (
	"github.com/kubeloupe/kubeloupe/trace"
)

// kubeletService is the service of upstream's kubelet, also within k3s.
const kubeletService = "kubelet"

// The names and attributes of the spans of upstream's kubelet (pkg/kubelet/kubelet.go).
const (
	attrPodUID       = "k8s.pod.uid"
	attrPodName      = "k8s.pod.name"
	attrPodNamespace = "k8s.namespace.name"
	attrUpdateType   = "k8s.pod.update_type"
)

// workOf is what a span says of the kubelet's own work: the sync of a pod's worker, a run of the garbage collection.
func workOf(s *span) (r trace.Record, ok bool) {
	if s.observer != trace.ObserverKubeletSpan {
		return r, false
	}
	r = trace.Record{
		Time: s.event.Start + int64(s.event.Dur), Dur: s.event.Dur, Edge: trace.EdgeEnd, Span: s.id, Observer: s.observer,
	}
	switch s.event.Name {
	case "syncPod":
		e := &trace.Sync{Why: trace.SyncAgain, Cause: s.attr(attrUpdateType), Err: s.event.Err}
		if e.Cause == "create" {
			e.Why = trace.SyncCreate
		}
		r.Event = e
	case "syncTerminatingPod":
		r.Event = &trace.Sync{Why: trace.SyncKill, Err: s.event.Err}
	case "syncTerminatedPod":
		r.Event = &trace.Sync{Why: trace.SyncFinish, Err: s.event.Err}
	case "Images/GarbageCollect":
		r.Event = &trace.GC{What: trace.GCImages, Err: s.event.Err}
		return r, true
	case "Containers/GarbageCollect":
		r.Event = &trace.GC{What: trace.GCContainers, Err: s.event.Err}
		return r, true
	default:
		return r, false
	}
	r.Pod = trace.Pod{Namespace: s.attr(attrPodNamespace), Name: s.attr(attrPodName), UID: s.attr(attrPodUID)}
	return r, r.Pod.Namespace != "" && r.Pod.Name != "" && r.Pod.UID != ""
}

// attr is an attribute of a span, "" if it has none of that name.
func (s *span) attr(key string) string {
	for _, a := range s.event.Attrs {
		if a.K == key {
			return a.V
		}
	}
	return ""
}
