package printer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var cart = trace.Pod{Namespace: "shop", Name: "cart-7d4f-a1b", UID: "9f"}

const ms = time.Millisecond

// sample has an event of each kind: some with a line, some without.
func sample() []trace.Record {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var recs []trace.Record
	add := func(at time.Duration, pod trace.Pod, edge trace.Edge, dur time.Duration, e trace.Event) {
		recs = append(recs, trace.Record{Seq: uint64(len(recs) + 1), Time: t0.Add(at).UnixNano(), Edge: edge, Dur: dur, Pod: pod, Event: e})
	}
	node := trace.Pod{}
	const point, begin, end = trace.EdgePoint, trace.EdgeBegin, trace.EdgeEnd
	add(0, node, point, 0, &trace.Agent{State: trace.AgentStarting, Node: "lab-1", Runtime: "containerd", RuntimeVersion: "2.4.2"})
	add(1*ms, node, point, 0, &trace.PLEGMode{Mode: "evented"})
	add(2*ms, node, point, 0, &trace.SourceError{Source: trace.SourceFile, Path: "/m/bad.yaml", Line: 4, Field: "spec.containers[0].image", Message: "required", Kept: true})
	add(2*ms, node, point, 0, &trace.SourceError{Source: trace.SourceFile, Path: "/m/bad.yaml"})
	add(2*ms, node, point, 0, &trace.SourceError{Source: trace.SourceFile, Path: "/m/bad.yaml", Gone: true})
	add(3*ms, node, end, 1*ms, &trace.Source{Source: trace.SourceFile, Op: trace.OpSet, Pods: 1})
	add(4*ms, cart, point, 0, &trace.Source{Source: trace.SourceFile, Op: trace.OpAdd, Path: "/m/cart.yaml"})
	add(4*ms, cart, point, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	add(4*ms, node, end, 1*ms, &trace.Loop{N: 1, Case: trace.LoopConfig, Op: trace.LoopAdd})
	add(5*ms, cart, point, 0, &trace.Worker{From: trace.WorkerNone, To: trace.WorkerSyncing})
	add(5*ms, cart, begin, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	add(5*ms, cart, point, 0, &trace.Decision{By: trace.ByAdmission, Subject: "cart", Verdict: trace.VerdictAdmit, Reason: "fits"})
	add(5*ms, cart, point, 0, &trace.Plan{Steps: []trace.PlanStep{{ID: "sandbox"}}})
	add(6*ms, cart, end, 1*ms, &trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	add(7*ms, cart, end, 1*ms, &trace.CgroupOp{Op: "ensure", Path: "/kubepods"})
	add(200*ms, cart, end, 120*ms, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 4, Busy: 4})
	add(200*ms, cart, end, 20*ms, &trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetOther, Name: "too short to tell"}})
	add(317*ms, cart, end, 110*ms, &trace.CRICall{Method: "RunPodSandbox", Code: "OK"})
	add(317*ms, cart, end, 312*ms, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	add(400*ms, cart, point, 0, &trace.ImageProgress{Image: "redis:7.2", Done: 1})
	add(4104*ms, cart, end, 4100*ms, &trace.ImagePull{Image: "redis:7.2", Bytes: 68 << 20})
	add(4104*ms, cart, end, 4101*ms, &trace.Action{ID: "image redis:7.2", Verb: trace.VerbImage, Target: "redis:7.2"})
	add(4110*ms, cart, point, 0, &trace.NodeEvent{Type: trace.EventNormal, Reason: "Pulled", Message: "ok"})
	add(4110*ms, cart, end, 5*ms, &trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart", Err: "bad\x1b[31m\nthing"})
	add(4110*ms, cart, point, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "Failed", Message: "Error: bad"})
	add(4111*ms, cart, end, 4106*ms, &trace.Sync{Why: trace.SyncCreate, N: 1, Err: "create cart: bad"})
	add(4111*ms, cart, begin, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "create cart"}, Cause: "1s", Class: trace.Classify("1s")})
	add(5111*ms, cart, end, 1000*ms, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "create cart"}, Cause: "1s", Class: trace.Classify("1s")})
	add(5200*ms, cart, end, 88*ms, &trace.Action{ID: "start cart", Verb: trace.VerbStart, Container: "cart"})
	add(5201*ms, cart, point, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 5197 * ms})
	add(5201*ms, cart, point, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	add(5201*ms, cart, point, 0, &trace.PLEGEvent{Type: "ContainerStarted", Name: "cart"})
	add(9000*ms, cart, point, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "cart"})
	add(9000*ms, cart, point, 0, &trace.PodStatus{Phase: trace.PodFailed, Reason: "Error", Total: 1})
	add(9001*ms, node, end, 3*ms, &trace.PLEGRelist{Cause: "period", Err: "deadline exceeded"})
	add(9002*ms, node, end, 3*ms, &trace.CRICall{Method: "ContainerStatus", Code: "NotFound", Err: "no such container"})
	add(9003*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Subject: "old:1", Verdict: trace.VerdictRemove, Reason: "unused for 3h12m", Bytes: 5 << 20})
	add(9003*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Subject: "new:1", Verdict: trace.VerdictKeep, Reason: "in use"})
	add(9004*ms, node, end, 12*ms, &trace.GC{What: trace.GCImages, Considered: 2, Removed: 1, Freed: 5 << 20})
	add(9005*ms, node, end, 12*ms, &trace.GC{What: trace.GCContainers, Considered: 2})
	add(9006*ms, cart, point, 0, &trace.Gate{Action: "sandbox", Verdict: trace.GateGo})
	add(9007*ms, cart, end, 1*ms, &trace.Volume{Op: "setup", Name: "data", Err: "no space"})
	add(9008*ms, node, point, 0, &trace.Log{Level: trace.LevelDebug, Message: "not this"})
	add(9008*ms, node, point, 0, &trace.Log{Level: trace.LevelWarn, Message: "flag ignored", Attrs: []trace.KV{{K: "flag", V: "--x y"}}})
	add(9009*ms, node, point, 0, &trace.Pressure{Signal: trace.SignalMemory})
	long := strings.Repeat("on and ", 20) + "on"
	add(9010*ms, cart, point, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "Long", Message: `pod: "cart-7d4f-a1b_shop(9f)". ` + long})
	add(9010*ms, node, point, 0, &trace.Log{Level: trace.LevelInfo, Message: long})
	add(9010*ms, node, point, 0, &trace.Log{Level: trace.LevelError, Message: long})
	add(9011*ms, cart, end, 800*ms, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "setup"}})
	add(9011*ms, cart, point, 0, &trace.Decision{By: trace.ByRestart, Subject: "setup", Verdict: trace.VerdictLeave, Reason: "restartPolicy OnFailure: ended with exit code 0"})
	add(9011*ms, cart, end, 800*ms, &trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "cart"}})
	add(9011*ms, cart, end, 801*ms, &trace.Action{ID: "kill cart", Verb: trace.VerbKill, Container: "cart"})
	add(9011*ms, cart, end, 3*ms, &trace.ProbeAttempt{Container: "cart", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeFailure, Output: "HTTP probe failed with statuscode: 500", Count: 1, Threshold: 3, State: trace.ProbeDenies})
	add(9012*ms, node, point, 0, &trace.Agent{State: trace.AgentStopped, Runtime: "kubeloupe-sim", RuntimeVersion: "simulated", Simulated: true})
	add(9013*ms, node, end, 3*ms, &trace.APICall{Client: "main", Verb: "create", Resource: "nodes", Name: "lab-1", Code: 403, Err: "forbidden"})
	add(9013*ms, node, end, 3*ms, &trace.NodeStatus{Op: "patch", Cause: "change", Ready: true, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"}}})
	add(9013*ms, cart, end, 3*ms, &trace.StatusPatch{Op: trace.PatchStatus, Version: 3, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"}}})
	add(9014*ms, cart, end, 3*ms, &trace.ServerRequest{Server: "https", Method: "GET", Path: "/containerLogs/shop/cart/cart", User: "kube-apiserver", Verdict: "allowed", Code: 200})
	add(9014*ms, node, end, 3*ms, &trace.ServerRequest{Server: "https", Method: "GET", Path: "/pods", Verdict: "unauthenticated", Code: 401, Reason: "no credentials"})
	add(9015*ms, cart, end, 3*ms, &trace.ProbeAttempt{Container: "cart", Probe: trace.ProbeReadiness, Result: trace.ProbeFailure, Early: true, Count: 1, Threshold: 3, State: trace.ProbeDenies})
	add(9015*ms, cart, end, 3*ms, &trace.ProbeAttempt{Container: "cart", Probe: trace.ProbeReadiness, Result: trace.ProbeSuccess, Count: 1, Threshold: 1, State: trace.ProbeSays})
	add(9015*ms, cart, end, 3*ms, &trace.ProbeAttempt{Container: "cart", Probe: trace.ProbeReadiness, Result: trace.ProbeSuccess, Count: 2, Threshold: 1, State: trace.ProbeSays})
	add(9015*ms, cart, point, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "Unhealthy", Message: "Readiness probe failed: no"})
	add(9015*ms, cart, point, 0, &trace.RuntimeSpan{Name: "sandbox.run", Service: "containerd", Start: 1, Dur: 3 * ms, Err: "no shim"})
	add(9015*ms, node, point, 0, &trace.Usage{Interval: time.Second, RSS: 40 << 20})
	add(9016*ms, cart, end, 3*ms, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: "NodeStageVolume", Volume: "v-1", Code: "Internal", Err: "no device"})
	add(9016*ms, cart, end, 3*ms, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: "NodePublishVolume", Volume: "v-1", Code: "OK"})
	add(9017*ms, cart, point, 0, &trace.VolumeProgress{Op: "fsgroup", Path: "/data", Files: 900, PerSecond: 900})
	add(9017*ms, cart, point, 0, &trace.VolumeProgress{Op: "fsgroup", Path: "/data", Files: 12345, Done: true})
	add(9018*ms, cart, end, 3*ms, &trace.StatusPatch{Op: trace.PatchDelete, Err: `pods "cart" not found`, Class: trace.FailGone})
	add(9018*ms, cart, end, 300*ms, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "startup", Container: "cart"}})
	add(9018*ms, cart, end, 300*ms, &trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "cart"}})
	add(9018*ms, node, end, 3*ms, &trace.APICall{Client: "main", Verb: "get", Resource: "configmaps", Code: 200})
	add(9019*ms, node, point, 0, &trace.NodeDescribed{Node: "lab-1"})
	add(9019*ms, node, point, 0, &trace.NodeDescribed{Node: "lab-1", Changed: []string{"capacity memory 4Gi → 8Gi", "kernel 6.8.0 → 6.8.1"}})
	add(9019*ms, node, point, 0, &trace.RuntimeDescribed{})
	add(9019*ms, node, point, 0, &trace.RuntimeDescribed{Changed: []string{"handler kata"}})
	add(9019*ms, node, point, 0, &trace.ResourcesDescribed{
		CPUPolicy: "static", Options: "full-pcpus-only", MemoryPolicy: "None", TopologyPolicy: "best-effort", Scope: "container",
		Nodes: []trace.NUMANode{{CPUs: "0-3"}, {ID: 1, CPUs: "4-7"}}, Reserved: "0", Pool: "0-7",
		Memory: []trace.NUMAMemory{{Resource: "memory", Total: 1 << 30}, {Node: 1, Resource: "hugepages-2Mi", Total: 1 << 21}},
	})
	until := t0.Add(365 * 24 * time.Hour)
	add(9019*ms, node, point, 0, &trace.Certificate{Use: "client", None: "this agent stands alone"})
	add(9019*ms, node, point, 0, &trace.Certificate{Use: "client", Cause: "start", Name: "system:node:lab-1", NotAfter: until})
	add(9019*ms, node, point, 0, &trace.Certificate{Use: "client", Cause: "renewed", Name: "system:node:lab-1", NotAfter: until, Renew: until.Add(-30 * 24 * time.Hour)})
	add(9019*ms, node, point, 0, &trace.Certificate{Use: "serving", Cause: "changed", NotAfter: until})
	add(9019*ms, cart, point, 0, &trace.OOMKill{Container: "c1", Name: "cart"})
	add(9019*ms, node, point, 0, &trace.OOMKill{Cgroup: "/kubepods", Kills: 2})
	add(9019*ms, cart, point, 0, &trace.OOMKill{Container: "c1", Name: "cart", Process: "java", PID: 4711, RSS: 20 << 20, Constraint: trace.OOMMemcg, Cgroup: "/kubepods/pod1/c1", Limited: "/kubepods/pod1"})
	add(9019*ms, node, point, 0, &trace.OOMKill{Cgroup: "/system.slice/sshd.service", Process: "sshd", PID: 99, Constraint: trace.OOMSystem, Limited: "/"})
	soft := trace.Threshold{Kind: trace.ThresholdPressure, Bytes: 1 << 30, After: time.Minute}
	add(9019*ms, node, point, 0, &trace.Eviction{Signal: trace.SignalMemory, Available: 900 << 20, Capacity: 8 << 30, Threshold: soft, Outcome: trace.EvictionEvicted, Evicted: "shop/cart", Grace: 30, Ranked: make([]trace.RankedPod, 2), Clipped: 1})
	add(9019*ms, node, point, 0, &trace.Eviction{Signal: trace.SignalNodeFSInodes, Available: 90, Capacity: 9000, Threshold: trace.Threshold{Kind: trace.ThresholdPressure, Percent: 5}, Outcome: trace.EvictionReclaimed, Images: 2, Freed: 1 << 20})
	add(9019*ms, node, point, 0, &trace.Eviction{Signal: trace.SignalPID, Outcome: trace.EvictionNear})
	add(9019*ms, node, point, 0, &trace.Eviction{Signal: trace.SignalPID, Available: 9, Capacity: 9000, Threshold: trace.Threshold{Kind: trace.ThresholdPressure, Bytes: 10}, Outcome: trace.EvictionNone, Err: "no runtime"})
	add(9019*ms, node, point, 0, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: "example.com/gpu", Socket: "/var/lib/kubelet/device-plugins/gpu.sock"})
	add(9019*ms, node, point, 0, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: "example.com/gpu", Healthy: 3, Unhealthy: 1})
	add(9019*ms, cart, point, 0, &trace.DeviceAllocation{Container: "cart", Resource: "example.com/gpu", Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{"g0"}, Took: 1500 * ms})
	add(9019*ms, cart, point, 0, &trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationGranted, Why: trace.AllocationAligned, Container: "cart", CPUs: "2-3", Nodes: "0", Affinity: "0", Pool: "0-1"})
	add(9019*ms, node, point, 0, &trace.Shutdown{State: trace.ShutdownHeld, Delay: 30 * time.Second, Grace: 30})
	add(9019*ms, node, point, 0, &trace.Shutdown{State: trace.ShutdownAnnounced, Delay: 30 * time.Second, Grace: 30, Groups: 1, Pods: []string{"shop/cart", "shop/web"}, Started: t0})
	add(9019*ms, node, begin, 0, &trace.Shutdown{State: trace.ShutdownGroup, Group: 1, Groups: 1, Grace: 20, Pods: []string{"shop/cart", "shop/web"}})
	add(9019*ms, node, end, 20*time.Second, &trace.Shutdown{State: trace.ShutdownGroup, Group: 1, Groups: 1, Grace: 20, Pods: []string{"shop/cart", "shop/web"}, Overran: []string{"shop/web"}})
	add(9019*ms, node, point, 0, &trace.Shutdown{State: trace.ShutdownReleased, Started: t0, Ended: t0.Add(20 * time.Second)})
	const gpus = "gpu.example.com"
	add(9019*ms, node, point, 0, &trace.DRAPlugin{Op: trace.DRARegistered, Driver: gpus, Socket: "/var/lib/kubelet/plugins/gpu/dra.sock", Service: "v1.DRAPlugin"})
	add(9019*ms, cart, point, 0, &trace.ResourceClaim{Op: trace.ClaimPrepared, Namespace: "shop", Name: "gpu", UID: "u1", Driver: gpus, Devices: []string{"node/gpu-0"}, Count: 1, Method: "v1.DRAPlugin/NodePrepareResources", Batch: 1, Took: 1500 * ms})
	add(9019*ms, cart, point, 0, &trace.ResourceClaim{Op: trace.ClaimNotPrepared, Namespace: "shop", Name: "nic", UID: "u2", Driver: "nic.example.com", Fault: trace.FaultDriverMissing, Err: "DRA driver nic.example.com is not registered"})
	add(9019*ms, node, point, 0, &trace.ClaimDescribed{
		Namespace: "shop", Name: "gpu", UID: "u1", State: trace.ClaimReady, Drivers: []string{gpus}, Count: 1, Users: 1,
		Devices: []trace.ClaimDevice{{Driver: gpus, Pool: "node", Device: "gpu-0", CDI: []string{"example.com/gpu=0"}, Health: trace.DeviceHealthy}},
		Pods:    []trace.ClaimPod{{Pod: cart, Containers: []string{"web"}}},
	})
	add(9019*ms, node, point, 0, &trace.SpanExport{Endpoint: "localhost:4317", State: trace.ExportFailing, Sent: 60, Queued: 41, Dropped: 7, Err: "Unavailable: connection refused"})
	add(9020*ms, cart, point, 0, &trace.Resize{Op: trace.ResizeRequested, Container: "web", Resource: "cpu", Bound: "limits", Change: trace.ResizeIncrease})
	add(9021*ms, cart, point, 0, &trace.Resize{Op: trace.ResizeWaited, End: trace.ResizeAccepted, Trigger: trace.ResizeForRemoved, Priority: "normal", Took: 7 * time.Second})
	add(9019*ms, node, point, 0, &trace.ClockStepped{Step: time.Hour, Jump: time.Hour})
	add(9019*ms, node, point, 0, &trace.ClockStepped{Step: -time.Minute, Ahead: time.Minute})
	return recs
}

func TestText(t *testing.T) {
	for name, opt := range map[string]TextOptions{"text": {}, "relative": {Relative: true}, "wide": {Width: -1}, "terminal": {Clock: time.UTC, Width: 80}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s := Text(&b, opt)
			for _, r := range sample() {
				if err := s.Write(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(s.Lost(12, last(sample())), s.Flush()); err != nil {
				t.Fatal(err)
			}
			if bytes.ContainsAny(b.Bytes(), "\x1b\r\t") {
				t.Error("control characters in the output")
			}
			path := "testdata/" + name + ".txt"
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got, -update rewrites):\n%s", diff)
			}
		})
	}
}

func last(recs []trace.Record) time.Time { return recs[len(recs)-1].At() }

// TestSampleIsComplete fails if a new kind of event is missing here.
func TestSampleIsComplete(t *testing.T) {
	have := map[string]bool{}
	for _, r := range sample() {
		have[r.Event.Kind().String()] = true
	}
	for _, k := range trace.Kinds() {
		if !have[k] {
			t.Errorf("no %s in the sample", k)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	s := JSON(&b)
	want := sample()
	for i := range want {
		if err := s.Write(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Lost(12, last(sample())), s.Flush()); err != nil {
		t.Fatal(err)
	}
	want = append(want, trace.Record{Time: want[len(want)-1].Time, Event: &trace.Log{
		Level: trace.LevelWarn, Message: "12 records were lost here: this reader was too slow", Attrs: []trace.KV{{K: "lost", V: "12"}},
	}})
	var got []trace.Record
	for r, err := range jsonl.Read(&b) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	body := cmp.Comparer(func(a, b trace.Body) bool { return a.IsZero() && b.IsZero() })
	if diff := cmp.Diff(want, got, body); diff != "" {
		t.Error(diff)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(4)
		cur := bus.Subscribe(trace.FromNow)
		for range 6 {
			trace.Point(bus, trace.Span{}, trace.Log{Message: "x"})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var b bytes.Buffer
		done := make(chan error)
		go func() { done <- Run(ctx, cur, Text(&b, TextOptions{Relative: true})) }()
		synctest.Wait()
		if got := b.String(); strings.Count(got, "\n") != 5 || !strings.Contains(got, "lost 2 records here") {
			t.Errorf("after a batch:\n%s", got)
		}
		trace.Point(bus, trace.Span{}, trace.Log{Message: "the last"})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !strings.HasSuffix(b.String(), "info: the last\n") {
			t.Errorf("what was published before the end is missing:\n%s", b.String())
		}
	})
}

func TestRunEndsWithTheCursor(t *testing.T) {
	bus := trace.NewBus(4)
	cur := bus.Subscribe(trace.FromNow)
	trace.Point(bus, trace.Span{}, trace.Log{Message: "x"})
	cur.Close()
	var b bytes.Buffer
	if err := Run(t.Context(), cur, JSON(&b)); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v, %q", err, b.String())
	}
}

type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestRunReturnsTheWritersError(t *testing.T) {
	bus := trace.NewBus(4)
	cur := bus.Subscribe(trace.FromNow)
	trace.Point(bus, trace.Span{}, trace.Log{Message: "x"})
	for _, s := range []Sink{Text(broken{}, TextOptions{}), JSON(broken{})} {
		cur := bus.Subscribe(trace.FromOldest)
		if err := Run(t.Context(), cur, s); !errors.Is(err, errBroken) {
			t.Errorf("%T: %v", s, err)
		}
	}
	cur.Close()
}

// TestEvery: each record of an event has a line, also where it is not important.
func TestEvery(t *testing.T) {
	for _, r := range sample() {
		var b bytes.Buffer
		s := Text(&b, TextOptions{Every: true, Width: -1})
		if err := errors.Join(s.Write(&r), s.Flush()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n != 1 {
			t.Errorf("%d lines for %s: %q", n, r.Event.Kind(), b.String())
		}
	}
}
