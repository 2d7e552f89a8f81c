package merge

import (
	"github.com/kubeloupe/kubeloupe/trace"
)

// place finds what a run that the kernel saw is part of: the call, or the kubelet's action, in which the runtime made or undid the pod's
// network.
func (m *Merger) place(r *trace.Record) {
	e, ok := r.Event.(*trace.RuntimeSpan)
	if !ok || r.Observer != trace.ObserverKernel || r.Parent != 0 || r.Pod.Name == "" {
		return
	}
	sandbox := ""
	for _, a := range e.Attrs {
		if a.K == "sandbox.id" {
			sandbox = a.V
		}
	}
	for _, in := range []trace.Event{
		&trace.CRICall{Method: "RunPodSandbox"}, &trace.CRICall{Method: "StopPodSandbox", Sandbox: sandbox}, &trace.CRICall{Method: "RemovePodSandbox", Sandbox: sandbox},
		&trace.Action{ID: string(trace.VerbSandbox)}, &trace.Action{ID: string(trace.VerbStopSandbox)},
	} {
		for _, t := range m.same.latest(keyOf(&trace.Record{Pod: r.Pod, Event: in})) {
			if room := int64(t.precision + r.Precision.Duration()); e.Start >= t.from-room && (t.to == 0 || e.Start <= t.to+room) {
				r.Parent, r.Trace = t.span, t.trace
			}
		}
		if r.Parent != 0 {
			return
		}
	}
}
