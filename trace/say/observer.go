package say

import (
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Observer returns an observer in words: "the kubelet's log".
func Observer(o trace.Observer) string { return noise.Of(observer(o)) }

func observer(o trace.Observer) string {
	switch o {
	case trace.ObserverAgent:
		return "the agent"
	case trace.ObserverRuntimeSpan:
		return "the container runtime's spans"
	case trace.ObserverRuntimeLog:
		return "the container runtime's log"
	case trace.ObserverRuntimeEvents:
		return "the container runtime's events"
	case trace.ObserverRuntimeList:
		return "a list of the container runtime"
	case trace.ObserverKernel:
		return "the kernel"
	case trace.ObserverKubeletLog:
		return "the kubelet's log"
	case trace.ObserverKubeletSpan:
		return "the kubelet's spans"
	case trace.ObserverKubeletAPI:
		return "the kubelet's API"
	case trace.ObserverProxy:
		return "the proxy"
	case trace.ObserverAPIServer:
		return "the Kubernetes API"
	}
	return o.String()
}

// SeenBy returns who observed a record, and how exactly its time is known: "seen by the kernel, within 1ms". It is
// empty for the kind's default observer.
func SeenBy(r *trace.Record) string {
	within := ""
	if r.Precision != 0 {
		within = ", within " + human.Duration(r.Precision.Duration())
	}
	if within == "" && r.Observer == r.Event.Kind().Observer() {
		return ""
	}
	return noise.Of("seen by " + observer(r.Observer) + within)
}
