package tuitest

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Spans is a node with a pod whose network setup was slow, with the runtime's spans, and a fast one.
func Spans() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-1", Version: "0.1.0", PID: 4711})
	s.Point(40*ms, Span{}, &trace.Agent{State: trace.AgentReady, Node: "lab-1", Runtime: "containerd", RuntimeVersion: "2.4.2"})
	n := &nodeScript{Script: s}
	n.start(pod{ns: "shop", name: "web-00", at: time.Second, image: "registry.local/shop/web:1.4", sandbox: 190 * ms})
	n.slowNetwork(5 * time.Second)
	return s.Records()
}

// told adds a span of the runtime, which arrives when it is over and some time has passed.
func (n *nodeScript) told(at, dur time.Duration, parent Span, e trace.RuntimeSpan) Span {
	sp := n.child(at, parent)
	e.Service, e.Start, e.Dur = "containerd", Epoch.Add(at).UnixNano(), dur
	n.add(trace.EdgePoint, 10*time.Second, 0, sp, &e)
	return sp
}

func (n *nodeScript) slowNetwork(at time.Duration) {
	key := n.key("shop", "cart-0")
	sync := n.seen(key, at, "redis:7.2")
	a := trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}
	act := n.Begin(at+4*ms, sync, &a)
	call := n.Begin(at+5*ms, act, &trace.CRICall{Method: "RunPodSandbox"})
	run := n.told(at+5*ms, 1795*ms, call, trace.RuntimeSpan{Name: "cri.sandbox.run"})
	net := n.told(at+20*ms, 1700*ms, run, trace.RuntimeSpan{Name: "cni.Setup"})
	attrs := []trace.KV{{K: "cni.ifname", V: "eth0"}, {K: "cni.name", V: "pods"}}
	add := n.told(at+22*ms, 1690*ms, net, trace.RuntimeSpan{Name: "cni.asynchAttach", Attrs: attrs})
	plugin := []trace.KV{{K: "cni.ifname", V: "eth0"}, {K: "cni.command", V: "ADD"}}
	n.told(at+25*ms, 80*ms, add, trace.RuntimeSpan{Name: "cni.plugin.bridge", Attrs: plugin})
	n.told(at+106*ms, 1600*ms, add, trace.RuntimeSpan{Name: "cni.plugin.portmap", Attrs: plugin})
	n.told(at+1730*ms, 55*ms, run, trace.RuntimeSpan{Name: "container.NewTask"})
	n.End(at+1800*ms, call, &trace.CRICall{Method: "RunPodSandbox", Code: "OK"})
	n.End(at+1801*ms, act, &a)
	at += 1802 * ms
	n.action(at, at+41*ms, sync, trace.Action{ID: "create main", Verb: trace.VerbCreate, Container: "main"}, trace.CRICall{Method: "CreateContainer", Container: "c1"})
	n.action(at+41*ms, at+90*ms, sync, trace.Action{ID: "start main", Verb: trace.VerbStart, Container: "main"}, trace.CRICall{Method: "StartContainer", Container: "c1"})
	n.Point(at+90*ms, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 1892 * ms})
	n.Point(at+91*ms, sync, &trace.Milestone{Name: trace.MilestoneReady, Since: 1893 * ms})
	n.End(at+92*ms, sync, &trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
}
