package tuitest

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// pod is how one pod starts.
type pod struct {
	ns, name string
	at       time.Duration
	image    string
	pull     time.Duration // 0: the image is there; negative: it continues for ever
	bytes    int64
	sandbox  time.Duration
}

func (n *nodeScript) key(ns, name string) trace.Pod {
	n.uids++
	return trace.Pod{Namespace: ns, Name: name, UID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n.uids)}
}

// seen adds what happens from the manifest to the first sync.
func (n *nodeScript) seen(key trace.Pod, at time.Duration, image string) (sync Span) {
	n.Point(at, Span{}.Of(key), &trace.Source{Source: trace.SourceFile, Op: trace.OpAdd, Pods: 1, Cause: trace.SourceInotify, Path: "/etc/kubeloupe/pods/" + key.Name + ".yaml"})
	loop := n.loop(at, trace.Loop{Case: trace.LoopConfig, Op: trace.LoopAdd, Pods: 1})
	n.Point(at, loop.Of(key), &trace.Milestone{Name: trace.MilestoneSeen, Source: "file ADD", Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "main", Image: image}}, QoS: "Burstable", RestartPolicy: "Always",
	}})
	n.Point(at+ms, loop.Of(key), &trace.Worker{From: trace.WorkerNone, To: trace.WorkerSyncing, Reason: "ADD"})
	n.Point(at+ms, loop.Of(key), &trace.Decision{By: trace.ByAdmission, Subject: key.String(), Verdict: trace.VerdictAdmit, Reason: "the node has room"})
	sync = n.Begin(at+ms, loop.Of(key), &trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
	n.Point(at+2*ms, sync, &trace.Plan{Why: "no sandbox", Steps: []trace.PlanStep{
		{ID: "cgroup", Verb: trace.VerbCgroup},
		{ID: "volumes", Verb: trace.VerbVolumes, Needs: []string{"cgroup"}},
		{ID: "sandbox", Verb: trace.VerbSandbox, Needs: []string{"cgroup"}},
		{ID: "image main", Verb: trace.VerbImage},
		{ID: "create main", Verb: trace.VerbCreate, Needs: []string{"sandbox", "volumes", "image main"}},
		{ID: "start main", Verb: trace.VerbStart, Needs: []string{"create main"}},
	}})
	n.Both(at+2*ms, at+4*ms, sync, &trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	return sync
}

// action adds a step with its CRI call.
func (n *nodeScript) action(from, to time.Duration, sync Span, a trace.Action, c trace.CRICall) {
	sp := n.Begin(from, sync, &a)
	n.call(from+ms, to-ms, sp, c)
	end := a
	if c.Err != "" {
		end.Err = c.Err
	}
	n.End(to, sp, &end)
}

// start adds a whole start.
func (n *nodeScript) start(p pod) {
	key := n.key(p.ns, p.name)
	sandbox, container := strings.Repeat(key.UID[:8], 8), strings.Repeat("c"+key.UID[:7], 8)
	sync := n.seen(key, p.at, p.image)
	at := p.at + 4*ms
	n.Both(at, at+48*ms, sync, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	n.action(at, at+p.sandbox, sync, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, trace.CRICall{Method: "RunPodSandbox", Sandbox: sandbox})
	ready := at + p.sandbox
	if p.pull < 0 {
		act := n.Begin(at, sync, &trace.Action{ID: "image main", Verb: trace.VerbImage, Target: p.image, Reason: "not on the node"})
		pull := n.Begin(at, act, &trace.ImagePull{Image: p.image})
		n.Begin(at, pull, &trace.CRICall{Method: "PullImage", Image: p.image})
		n.Point(at+1900*ms, pull, &trace.ImageProgress{Image: p.image, Done: 41 << 20, Total: p.bytes, Source: "content-store"})
		return
	}
	if p.pull > 0 {
		act := n.Begin(at, sync, &trace.Action{ID: "image main", Verb: trace.VerbImage, Target: p.image, Reason: "not on the node"})
		pull := n.Begin(at, act, &trace.ImagePull{Image: p.image})
		n.call(at, at+p.pull, pull, trace.CRICall{Method: "PullImage", Image: p.image})
		for i := range 4 {
			n.Point(at+time.Duration(i+1)*p.pull/5, pull, &trace.ImageProgress{Image: p.image, Done: int64(i+1) * p.bytes / 5, Total: p.bytes, Source: "content-store"})
		}
		n.End(at+p.pull, pull, &trace.ImagePull{Image: p.image, Bytes: p.bytes, Ref: "sha256:ab12"})
		n.End(at+p.pull, act, &trace.Action{ID: "image main", Verb: trace.VerbImage, Target: p.image, Reason: "not on the node"})
		ready = max(ready, at+p.pull)
	}
	n.Both(ready, ready+6*ms, sync, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetOther, Name: "a place among 4 runtime calls"}})
	ready += 6 * ms
	n.action(ready, ready+41*ms, sync, trace.Action{ID: "create main", Verb: trace.VerbCreate, Container: "main"}, trace.CRICall{Method: "CreateContainer", Sandbox: sandbox, Container: container})
	n.action(ready+41*ms, ready+129*ms, sync, trace.Action{ID: "start main", Verb: trace.VerbStart, Container: "main"}, trace.CRICall{Method: "StartContainer", Container: container})
	up := ready + 129*ms
	n.Point(up, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: up - p.at})
	n.End(up, sync, &trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
	n.Point(up, sync, &trace.Milestone{Name: trace.MilestoneReady, Since: up - p.at})
	n.Point(up, sync, &trace.NodeEvent{Type: trace.EventNormal, Reason: "Started", Message: "Container started", Field: "spec.containers{main}"})
	n.Point(up+8*ms, sync, &trace.PLEGEvent{Type: "ContainerStarted", Container: container, Name: "main", Sandbox: sandbox, From: "evented", Lag: int64(3 * ms)})
	n.Point(up+9*ms, sync, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, IP: fmt.Sprintf("10.88.0.%d", n.uids+1), SandboxID: sandbox, Containers: []trace.ContainerStatus{
		{Name: "main", State: trace.ContainerRunning, ID: container},
	}})
}

// crash adds a pod whose container ends at once, again and again.
func (n *nodeScript) crash(at time.Duration) {
	key := n.key("jobs", "flaky")
	sync := n.seen(key, at, "busybox:1.36")
	id := strings.Repeat("dead", 16)
	n.action(at+4*ms, at+200*ms, sync, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, trace.CRICall{Method: "RunPodSandbox", Sandbox: id})
	n.action(at+200*ms, at+240*ms, sync, trace.Action{ID: "create main", Verb: trace.VerbCreate, Container: "main"}, trace.CRICall{Method: "CreateContainer", Container: id})
	n.action(at+240*ms, at+300*ms, sync, trace.Action{ID: "start main", Verb: trace.VerbStart, Container: "main"}, trace.CRICall{Method: "StartContainer", Container: id})
	n.Point(at+300*ms, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 300 * ms})
	n.End(at+301*ms, sync, &trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
	again := n.Begin(at+12*time.Second, Span{}.Of(key), &trace.Sync{Why: trace.SyncAgain, Cause: "ContainerDied", N: 2})
	n.action(at+12*time.Second, at+12*time.Second+70*ms, again, trace.Action{ID: "create main", Verb: trace.VerbCreate, Container: "main"},
		trace.CRICall{Method: "CreateContainer", Container: id, Code: "AlreadyExists", Err: "failed to reserve container name \"main_flaky_1\""})
	n.End(at+12*time.Second+71*ms, again, &trace.Sync{Why: trace.SyncAgain, Cause: "ContainerDied", N: 2, Err: "create main: failed to reserve container name"})
	n.Point(at+40*time.Second, Span{}.Of(key), &trace.Decision{
		By: trace.ByBackoff, Subject: "main", Verdict: trace.VerdictWait, Reason: "it ended 3 times, the last after 0.2 s",
		Until: Epoch.Add(at + 60*time.Second).UnixNano(), Inputs: []trace.KV{{K: "delay", V: "20s"}, {K: "restarts", V: "3"}},
	})
	n.Begin(at+40*time.Second, Span{}.Of(key), &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "main"}, Cause: "20s", Class: trace.Classify("20s")})
	n.Point(at+40*time.Second, Span{}.Of(key), &trace.NodeEvent{Type: trace.EventWarning, Reason: "BackOff", Message: "Back-off restarting failed container main"})
	n.Point(at+40*time.Second, Span{}.Of(key), &trace.PodStatus{Phase: trace.PodRunning, Ready: 0, Total: 1, Restarts: 3, Containers: []trace.ContainerStatus{
		{Name: "main", State: trace.ContainerWaiting, Reason: "CrashLoopBackOff", Message: "back-off 20s restarting failed container", Restarts: 3, ID: id},
	}})
}
