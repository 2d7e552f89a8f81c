package otlp

import (
	"context"

	"github.com/kubeloupe/kubeloupe/inspect/otlp/plugins"
	"github.com/kubeloupe/kubeloupe/trace"
)

// watchCNI watches plugins as long as that works. Spans come without it too.
func (r *Receiver) watchCNI(ctx context.Context) {
	if err := r.cni.Run(ctx); err != nil {
		trace.Point(r.bus, trace.Span{}, trace.Log{Level: "info", Message: "runs of CNI plugins are not reported: " + err.Error()})
	}
}

// noCNI says that there are no plugins to watch in a directory.
func (r *Receiver) noCNI(dir string) {
	trace.Point(r.bus, trace.Span{}, trace.Log{Level: "info", Message: "runs of CNI plugins are not reported: there is no directory " + dir + "; waiting for it"})
}

// strangeRun tells of a program that somebody ran who is not the runtime.
func (r *Receiver) strangeRun(why string) {
	r.counts.strangers.Add(1)
	r.notices.runs.tell(r.bus, "a run of a CNI plugin does not count: "+why)
}

// ran takes a plugin's run as a span of ours.
func (r *Receiver) ran(e plugins.Exec) {
	s := span{id: e.ID, parent: e.Parent, pod: e.Pod, cni: e.Command, observer: trace.ObserverKernel, lag: plugins.Precision, event: trace.RuntimeSpan{
		Name: "cni.plugin." + cut(e.Plugin, maxKey), Service: "kubeloupe", Start: e.Start.UnixNano(), Dur: max(e.Dur, 0),
		Attrs: []trace.KV{
			{K: "cni.command", V: cut(e.Command, maxKey)},
			{K: "cni.ifname", V: cut(e.IfName, maxKey)},
			{K: "sandbox.id", V: cut(e.Sandbox, maxKey)},
		},
	}}
	if r.take(decoded{spans: []span{s}}) != nil {
		r.counts.lost.Add(1)
	}
}

// sandboxCall says which call a CNI command is part of: for a pod's network being made or undone.
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
		s.trace = c.trace
		if s.parent == 0 {
			s.parent = c.span
		}
		return []span{s}, placed
	}
	return nil, v
}

// noteSandbox remembers a call that has CNI plugins run.
func (t *tree) noteSandbox(method string, pod trace.Pod, c *call) {
	switch method {
	case "RunPodSandbox":
		t.sandboxes.set(sandboxCall{pod, false}, c)
	case "StopPodSandbox", "RemovePodSandbox":
		t.sandboxes.set(sandboxCall{pod, true}, c)
	}
}
