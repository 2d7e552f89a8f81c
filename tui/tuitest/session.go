package tuitest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const ms = time.Millisecond

// Length is how long Session lasts: the time at which a view of it is drawn.
const Length = 75 * time.Second

// Session is a node with 28 quick pods, two slow starts, one pod that is being
// pulled, one that crashes, one that ends, two garbage collections, a broken
// manifest and the usual noise.
func Session() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-1", Version: "0.1.0", PID: 4711})
	s.Point(40*ms, Span{}, &trace.Agent{
		State: trace.AgentReady, Node: "lab-1", Runtime: "containerd", RuntimeVersion: "2.4.2", Endpoint: "unix:///run/containerd/containerd.sock",
	})
	s.Point(41*ms, Span{}, &trace.PLEGMode{Mode: "evented", Reason: "the runtime streams container events"})
	node := &nodeScript{Script: s}
	for i := range 28 {
		node.start(pod{ns: "shop", name: fmt.Sprintf("web-%02d", i), at: 60*ms + time.Duration(i)*310*ms, image: "registry.local/shop/web:1.4", sandbox: time.Duration(180+i*7) * ms})
	}
	node.start(pod{ns: "kube-system", name: "cni-9xk", at: 9500 * ms, image: "registry.local/net/cni:3.1", sandbox: 1800 * ms})
	node.start(pod{ns: "shop", name: "cart-7d4f-a1b", at: 14000 * ms, image: "redis:7.2", pull: 4100 * ms, bytes: 68 << 20, sandbox: 312 * ms})
	node.start(pod{ns: "shop", name: "cart-7d4f-x2z", at: Length - 2300*ms, image: "redis:7.2", pull: -1, bytes: 68 << 20, sandbox: 290 * ms})
	node.crash(30000 * ms)
	node.house()
	node.gc()
	node.pressure()
	s.Point(21000*ms, Span{}, &trace.SourceError{
		Source: trace.SourceFile, Path: "/etc/kubeloupe/pods/bad.yaml", Line: 7, Field: "spec.containers[0].image",
		Message: "is missing: want the name of an image", Kept: true,
	})
	s.Point(22000*ms, Span{}, &trace.Log{Level: trace.LevelWarn, Message: "clock jumped", Attrs: []trace.KV{{K: "by", V: "1.2s"}}})
	s.Point(23000*ms, Span{}, &trace.Log{Level: trace.LevelInfo, Message: "evil \x1b[31mtext\x1b[0m \u202eback\a"})
	return s.Records()
}

// Body is a message that was kept.
func Body(v any) trace.Body {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(`"unmarshalable"`)
	}
	return trace.BodyOf(json.RawMessage(raw), len(raw))
}

// nodeScript adds what a node does to a script.
type nodeScript struct {
	*Script
	uids int
}

// loop adds an iteration of syncLoop and returns its span.
func (n *nodeScript) loop(at time.Duration, e trace.Loop) Span {
	e.Idle = 290 * ms
	return n.Both(at, at+2*ms, Span{}, &e)
}

// call adds a CRI call.
func (n *nodeScript) call(from, to time.Duration, parent Span, e trace.CRICall) {
	begin, end := e, e
	begin.Request = Body(map[string]any{"method": e.Method, "sandbox": e.Sandbox, "image": e.Image, "container": e.Container})
	sp := n.Begin(from, parent, &begin)
	if end.Code == "" {
		end.Code = "OK"
	}
	end.Response = Body(map[string]any{"ok": end.Code == "OK"})
	n.End(to, sp, &end)
}

// house adds what continues whatever happens.
func (n *nodeScript) house() {
	for at := 2 * time.Second; at < Length-300*ms; at += 2 * time.Second {
		n.loop(at, trace.Loop{Case: trace.LoopHousekeeping})
	}
	n.loop(Length-300*ms, trace.Loop{Case: trace.LoopSync, Detail: "nothing due"})
	for at := 5 * time.Second; at < Length; at += 10 * time.Second {
		n.call(at, at+3*ms, Span{}, trace.CRICall{Method: "Status"})
	}
	for at := 10 * time.Second; at < Length; at += 10 * time.Second {
		n.Point(at, Span{}, &trace.Usage{Interval: 10 * time.Second, CPU: 130 * ms, RSS: 48 << 20, Goroutines: 91, CPUs: 4, Busy: 9 * time.Second})
	}
	n.Both(60*time.Second, 60*time.Second+9*ms, Span{}, &trace.PLEGRelist{Cause: "period", Sandboxes: 31, Containers: 32})
}

func (n *nodeScript) pressure() {
	for _, p := range []trace.Pressure{
		{Signal: trace.SignalMemory, Used: 5712 << 20, Capacity: 8045 << 20, Thresholds: []trace.Threshold{{Kind: trace.ThresholdPressure, Bytes: 100 << 20}}},
		{Signal: trace.SignalNodeFS, Used: 33 << 30, Capacity: 100 << 30, Thresholds: []trace.Threshold{{Kind: trace.ThresholdPressure, Percent: 10}}},
		{Signal: trace.SignalImageFS, Used: 81 << 30, Capacity: 100 << 30, Thresholds: []trace.Threshold{{Kind: trace.ThresholdImageGC, Percent: 85, DownTo: 80}}},
	} {
		n.Point(Length-5*time.Second, Span{}, &p)
	}
}

// gc adds two passes with their verdicts.
func (n *nodeScript) gc() {
	pass := n.Begin(60*time.Second, Span{}, &trace.GC{What: trace.GCContainers, Cause: trace.GCPeriod})
	for i, v := range []trace.Verdict{trace.VerdictKeep, trace.VerdictRemove, trace.VerdictKeep} {
		n.Point(60*time.Second+time.Duration(i)*ms, pass, &trace.Decision{
			By: trace.ByContainerGC, Subject: fmt.Sprintf("flaky/%d", i), Verdict: v,
			Reason: map[trace.Verdict]string{trace.VerdictKeep: "the last dead one of its container", trace.VerdictRemove: "2 dead ones, 1 is kept"}[v],
			Inputs: []trace.KV{{K: "age", V: "42s"}, {K: "dead", V: "2"}},
		})
	}
	n.End(60*time.Second+8*ms, pass, &trace.GC{What: trace.GCContainers, Cause: trace.GCPeriod, Considered: 3, Removed: 1})
	pass = n.Begin(62*time.Second, Span{}, &trace.GC{What: trace.GCImages, Cause: "pressure", Usage: 86})
	n.Point(62*time.Second+ms, pass, &trace.Decision{
		By: trace.ByImageGC, Subject: "registry.local/old/thing:0.9", Verdict: trace.VerdictRemove,
		Reason: "unused for 3d04h, the longest", Bytes: 412 << 20, Inputs: []trace.KV{{K: "last used", V: "3d04h ago"}},
	})
	n.Point(62*time.Second+2*ms, pass, &trace.Decision{
		By: trace.ByImageGC, Subject: "redis:7.2", Verdict: trace.VerdictKeep, Reason: "in use by shop/cart-7d4f-a1b", Bytes: 68 << 20,
	})
	n.End(62*time.Second+640*ms, pass, &trace.GC{What: trace.GCImages, Cause: "pressure", Considered: 2, Removed: 1, Freed: 412 << 20, Usage: 86})
}
