package otlp

import (
	"context"

	"github.com/kubeloupe/kubeloupe/inspect/otlp/plugins"
	"github.com/kubeloupe/kubeloupe/trace"
)

// watchCNI watches CNI plugins until it fails. Spans are received without it too.
func (r *Receiver) watchCNI(ctx context.Context) {
	if err := r.cni.Run(ctx); err != nil {
		trace.Point(r.bus, trace.Span{}, trace.Log{Level: "info", Message: "runs of CNI plugins are not reported: " + err.Error()})
	}
}

// noCNI reports that a directory of plugins does not exist yet.
func (r *Receiver) noCNI(dir string) {
	trace.Point(r.bus, trace.Span{}, trace.Log{Level: "info", Message: "runs of CNI plugins are not reported: there is no directory " + dir + "; waiting for it"})
}

// strangeRun warns of a plugin that was run by a process other than the runtime.
func (r *Receiver) strangeRun(why string) {
	r.counts.strangers.Add(1)
	r.notices.runs.tell(r.bus, "a run of a CNI plugin does not count: "+why)
}

// ran handles a plugin's run as a span.
func (r *Receiver) ran(e plugins.Exec) {
	s := span{id: e.ID, parent: e.Parent, pod: e.Pod, cni: e.Command, observer: trace.ObserverKernel, lag: plugins.Precision, event: e.Event()}
	if r.take(decoded{spans: []span{s}}) != nil {
		r.counts.lost.Add(1)
	}
}

// sandboxCall is the kind of call that runs a CNI command: for the setup or the teardown of a pod's network.
type sandboxCall struct {
	pod  trace.Pod
	undo bool
}

// place finds the call that ran a plugin: the runtime's last one for the pod and that purpose, which was under way then. The network
// of a sandbox that could not be made is undone within the call that should have made it.
func (t *tree) place(s span) (ready []span, v verdict) {
	if s.pod.IsZero() || s.cni != "ADD" && s.cni != "DEL" {
		return nil, foreign
	}
	v = foreign
	for _, undo := range []bool{true, false} {
		s := s
		c, ok := t.sandboxes.get(sandboxCall{s.pod, undo})
		switch {
		case !ok || undo && s.cni == "ADD":
			continue
		case !t.within(c, &s.event) || c.end != 0 && s.event.Start > c.end:
			v = outside
			continue
		case c.spans >= maxCallSpans:
			return nil, tooMany
		}
		c.spans++
		s.trace, s.in = c.trace, c.trace
		if s.parent == 0 {
			s.parent = c.span
		}
		return []span{s}, placed
	}
	return nil, v
}

// noteSandbox remembers a call that runs CNI plugins.
func (t *tree) noteSandbox(method string, pod trace.Pod, c *call) {
	switch method {
	case "RunPodSandbox":
		t.sandboxes.set(sandboxCall{pod, false}, c)
	case "StopPodSandbox", "RemovePodSandbox":
		t.sandboxes.set(sandboxCall{pod, true}, c)
	}
}
