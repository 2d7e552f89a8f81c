package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const gib = 1 << 30

// Shortage is a node of a cluster that runs out of memory and disk: memory grows until its mark is passed, a pod is
// refused, images are collected. Pods come from files, of which two are wrong, from a URL and from an API server that
// both no longer answer. Six pods wait for a slot of the runtime at the end.
func Shortage() []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentStarting, Node: "lab-2", Version: "0.1.0", PID: 815})
	s.Point(40*ms, Span{}, &trace.Agent{
		State: trace.AgentReady, Node: "lab-2", Runtime: "containerd", RuntimeVersion: "2.4.2", Endpoint: "unix:///run/containerd/containerd.sock",
	})
	s.Point(41*ms, Span{}, &trace.PLEGMode{Mode: "relist", Reason: "the runtime has no container events"})
	n := &nodeScript{Script: s}
	n.server()
	n.sources()
	n.fill()
	n.machine()
	for i := range 6 {
		n.queued(fmt.Sprintf("batch-%02d", i), 74*time.Second+time.Duration(i)*50*ms, i)
	}
	return s.Records()
}

// sources are three: one with errors, two that fail.
func (n *nodeScript) sources() {
	dir := "/etc/kubeloupe/pods"
	n.Both(50*ms, 52*ms, Span{}, &trace.Source{Source: trace.SourceFile, Op: trace.OpSet, Cause: trace.SourceStart, Path: dir, Pods: 6})
	for i, e := range []trace.SourceError{
		{Path: dir + "/bad.yaml", Line: 7, Field: "spec.containers[0].image", Message: "is missing: want the name of an image", Kept: true},
		{Path: dir + "/worse.yaml", Line: 2, Message: "mapping values are not allowed in this context"},
	} {
		e.Source = trace.SourceFile
		n.Point(time.Duration(21+i)*time.Second, Span{}, &e)
	}
	url := "https://deploy.example/pods.yaml"
	n.Both(60*ms, 90*ms, Span{}, &trace.Source{Source: trace.SourceHTTP, Op: trace.OpSet, Cause: trace.SourceStart, Path: url, Pods: 1})
	n.Point(60*time.Second, Span{}, &trace.SourceError{Source: trace.SourceHTTP, Path: url, Message: "503 Service Unavailable", Kept: true})
	n.Begin(60*time.Second, Span{}, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetAddress, Name: url}, Note: "next try in 20s after 2 failed: 503 Service Unavailable"})
	n.Both(30*ms, 45*ms, Span{}, &trace.Source{Source: trace.SourceAPI, Op: trace.OpSet, Cause: trace.SourceStart, Pods: 4})
	n.Point(70*time.Second, Span{}, &trace.SourceError{Source: trace.SourceAPI, Message: "dial tcp 10.0.0.1:6443: connection refused", Kept: true})
	n.Begin(71*time.Second, Span{}, &trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetWatch}, Note: "next try in 8s after 3 failed: dial tcp 10.0.0.1:6443: connection refused",
	})
}

// fill makes memory and the images' disk short.
func (n *nodeScript) fill() {
	for i := range 8 {
		at := time.Duration(i)*10*time.Second + 200*ms
		n.Point(at, Span{}, &trace.Pressure{Signal: trace.SignalMemory, Used: 7*gib + int64(i)*140<<20, Capacity: 8 * gib, Thresholds: []trace.Threshold{{Kind: trace.ThresholdPressure, Bytes: 100 << 20}}})
		n.Point(at, Span{}, &trace.Pressure{Signal: trace.SignalNodeFS, Used: 33*gib + int64(i%2)<<20, Capacity: 100 * gib, Thresholds: []trace.Threshold{{Kind: trace.ThresholdPressure, Percent: 10}}})
		n.Point(at, Span{}, &trace.Pressure{Signal: trace.SignalImageFS, Used: int64(86-i) * gib, Capacity: 100 * gib, Thresholds: []trace.Threshold{{Kind: trace.ThresholdImageGC, Percent: 85, DownTo: 80}, {Kind: trace.ThresholdPressure, Percent: 15}}})
	}
	n.Point(70*time.Second+201*ms, Span{}, &trace.Decision{
		By: trace.ByPressure, Subject: "memory", Verdict: trace.VerdictShort, Reason: "less than 100Mi is available",
		Limit: 104857600, Inputs: []trace.KV{{K: "available", V: "46137344"}},
	})
	n.Point(71*time.Second, Span{}, &trace.Eviction{
		Signal: trace.SignalMemory, Available: 46137344, Capacity: 8 * gib, Threshold: trace.Threshold{Kind: trace.ThresholdPressure, Bytes: 100 << 20},
		Outcome: trace.EvictionEvicted, Evicted: "jobs/batch-07", Grace: 1, Ranked: []trace.RankedPod{
			{Pod: "jobs/batch-07", QoS: trace.QoSBestEffort, Usage: 900 << 20},
			{Pod: "shop/cart", QoS: trace.QoSBurstable, Usage: 700 << 20, Request: 512 << 20},
			{Pod: "kube-system/proxy", QoS: trace.QoSBestEffort, Priority: 2000001000, Usage: 40 << 20, Spared: true},
			{Pod: "shop/db", QoS: trace.QoSGuaranteed, Priority: 100, Usage: 1 * gib, Request: 2 * gib},
		},
	})
	st := trace.NodeStatus{Op: "patch", Cause: "change", Ready: true, Changed: []trace.Change{
		{What: trace.ChangeCondition, Name: "MemoryPressure", From: "False", To: "True", Reason: "KubeletHasInsufficientMemory"},
	}}
	n.Both(70*time.Second+202*ms, 70*time.Second+209*ms, Span{}, &st)
	n.Point(72*time.Second, Span{}.Of(n.key("jobs", "greedy")), &trace.Decision{
		By: trace.ByAdmission, Subject: "jobs/greedy", Verdict: trace.VerdictReject, Reason: "Evicted: The node had condition: [MemoryPressure].",
	})
	n.Both(10*time.Second, 10*time.Second+900*ms, Span{}, &trace.GC{What: trace.GCImages, Cause: "pressure", Usage: 86, Considered: 9, Removed: 3, Freed: 6 * gib})
}

// machine is a busy one.
func (n *nodeScript) machine() {
	n.Point(74*time.Second, Span{}, &trace.Usage{
		Interval: time.Second, CPU: 310 * ms, RunDelay: 140 * ms, RSS: 61 << 20, Goroutines: 204, CPUs: 2, Busy: 1960 * ms,
		Stalls: []trace.Stall{{Resource: trace.ResourceCPU, Some: 420 * ms}, {Resource: trace.ResourceMemory, Some: 30 * ms, Full: 12 * ms}, {Resource: trace.ResourceIO, Some: 8 * ms}},
	})
	n.Point(3*time.Second, Span{}, &trace.Decision{By: trace.ByCerts, Subject: "client certificate", Verdict: trace.VerdictRenew, Reason: "it runs out in 29h"})
}

// queued is a pod that waits for its turn at the runtime.
func (n *nodeScript) queued(name string, at time.Duration, ahead int) {
	of := Span{}.Of(n.key("jobs", name))
	n.Point(at, of, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Spec: &trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "main", Image: "job:1"}}}})
	act := n.Begin(at+ms, of, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	n.Begin(at+2*ms, act, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Note: fmt.Sprintf("4 of 4 slots busy, %d in the queue", ahead)})
}
