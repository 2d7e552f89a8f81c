package backlog_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// node plays a node at random: what it tells is well formed, but in no sensible order.
type node struct {
	*tape.Tape
	rng  *rand.Rand
	at   time.Duration
	open map[trace.SpanID]begun
	pods []*life
	n    int
}

type begun struct {
	pod   trace.Pod
	event trace.Event
}

// life is a pod, in the order in which milestones come.
type life struct {
	pod  trace.Pod
	next int
}

func play(seed uint64, records int) []trace.Record {
	n := &node{Tape: tape.New(), rng: rand.New(rand.NewPCG(seed, 1)), open: map[trace.SpanID]begun{}}
	n.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStarting, Node: "lab-1", Version: "1", PID: 1})
	n.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentReady, Runtime: "containerd", RuntimeVersion: "2.1"})
	for range records {
		n.at += time.Duration(1+n.rng.IntN(200)) * time.Millisecond
		n.step()
	}
	return n.Records()
}

func (n *node) chance(percent int) bool { return n.rng.IntN(100) < percent }

func pick[T any](n *node, list ...T) T { return list[n.rng.IntN(len(list))] }

func (n *node) step() {
	switch {
	case n.chance(4) && len(n.pods) < 40, len(n.pods) == 0:
		n.pods = append(n.pods, &life{pod: trace.Pod{Namespace: "ns", Name: fmt.Sprint("p", len(n.pods)), UID: fmt.Sprint(len(n.pods))}})
	case n.chance(45) && len(n.open) > 0:
		n.close()
	case n.chance(25):
		n.ofNode()
	default:
		n.ofPod(pick(n, n.pods...))
	}
}

// close ends something that is open.
func (n *node) close() {
	ids := slices.Sorted(maps.Keys(n.open))
	id := pick(n, ids...)
	b := n.open[id]
	delete(n.open, id)
	errText := ""
	if n.chance(25) {
		errText = "it failed"
	}
	var e trace.Event
	switch was := b.event.(type) {
	case *trace.Sync:
		e = &trace.Sync{N: was.N, Err: errText}
	case *trace.Action:
		e = &trace.Action{ID: was.ID, Verb: was.Verb, Err: errText}
	case *trace.Volume:
		e = &trace.Volume{Op: was.Op, Name: was.Name, Plugin: was.Plugin, Path: was.Path, Err: errText}
	case *trace.CSICall:
		e = &trace.CSICall{Driver: was.Driver, Method: was.Method, Code: "OK", Err: errText}
	case *trace.StatusPatch:
		e = &trace.StatusPatch{Op: was.Op, Version: was.Version, Changed: was.Changed, Age: was.Age, Err: errText}
	case *trace.ProbeAttempt:
		c := *was
		c.Result = trace.ProbeResult(pick(n, "success", "failure", "error", ""))
		c.State = trace.ProbeState(pick(n, "success", "failure", "unknown"))
		e = &c
	case *trace.CRICall:
		e = &trace.CRICall{Method: was.Method, Code: "OK", Err: errText, Response: trace.BodyOf(raw(`{}`), 50)}
	case *trace.ImagePull:
		e = &trace.ImagePull{Image: was.Image, Err: errText}
	case *trace.APICall:
		c := *was
		c.Code = pick(n, 200, 200, 404, 429, 503, 0)
		if c.Code == 0 {
			c.Err = pick(n, "connection refused", "context canceled")
			c.Class = trace.Classify(c.Err)
		}
		e = &c
		if c.Verb == "watch" && c.Code == 200 && n.chance(50) {
			defer n.Point(n.at, trace.Pod{}, id, &trace.APICall{Verb: "watch", Resource: c.Resource, Ended: true})
		}
	case *trace.NodeStatus:
		changed := pick(n,
			trace.Change{What: trace.ChangeField, Name: "labels"},
			trace.Change{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True", Reason: "KubeletReady"},
			trace.Change{What: trace.ChangeCondition, Name: "DiskPressure", To: "True", Reason: "KubeletHasDiskPressure"})
		e = &trace.NodeStatus{Op: was.Op, Cause: was.Cause, Err: errText, Ready: changed.Name == "Ready" || n.chance(50), Changed: []trace.Change{changed}}
	case *trace.GC:
		e = &trace.GC{What: was.What, Removed: n.rng.IntN(5), Err: errText}
	}
	n.End(n.at, id, e) // nil repeats the begin
}

type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func (n *node) begin(pod trace.Pod, parent trace.SpanID, e trace.Event) trace.SpanID {
	id := n.Begin(n.at, pod, parent, e)
	n.open[id] = begun{pod, e}
	return id
}

// parent is the span of something open that is about the pod and of the type of like, else 0.
func (n *node) parent(pod trace.Pod, like ...trace.Event) trace.SpanID {
	for _, id := range slices.Sorted(maps.Keys(n.open)) {
		b := n.open[id]
		for _, l := range like {
			if b.pod == pod && b.event.Kind() == l.Kind() {
				return id
			}
		}
	}
	return 0
}

func (n *node) ofNode() {
	n.n++
	none := trace.Pod{}
	switch n.rng.IntN(17) {
	case 0:
		n.begin(none, 0, &trace.Loop{N: uint64(n.n), Case: trace.LoopPLEG})
	case 1:
		n.begin(none, 0, &trace.APICall{Verb: pick(n, trace.APIUpdate, trace.APIGet), Resource: "leases"})
	case 2:
		n.begin(none, 0, &trace.APICall{Verb: pick(n, trace.APIWatch, trace.APIList, trace.APIPatch), Resource: pick(n, "pods", "nodes")})
	case 3:
		n.begin(none, 0, &trace.NodeStatus{Op: pick(n, trace.NodeRegister, trace.NodePatch, trace.NodeReconcile)})
	case 4:
		n.begin(none, 0, &trace.GC{What: trace.GCKind(pick(n, "image", "container"))})
	case 5:
		n.Point(n.at, none, n.parent(none, &trace.GC{}), &trace.Decision{By: trace.ByImageGC, Subject: fmt.Sprint("i", n.n), Verdict: trace.VerdictRemove})
		n.Point(n.at, none, 0, &trace.Decision{By: trace.ByPressure, Subject: pick(n, "memory", "nodefs"), Verdict: trace.Verdict(fmt.Sprint(n.n))})
	case 6:
		n.Point(n.at, none, 0, &trace.Pressure{Signal: trace.Signal(pick(n, "memory", "nodefs")), Used: int64(n.n), Capacity: 1e6})
	case 7:
		n.Point(n.at, none, 0, &trace.Log{Level: trace.LevelWarn, Message: fmt.Sprint("line ", n.n)})
	case 8:
		message := pick(n, "bad", "worse", "")
		n.Point(n.at, none, 0, &trace.SourceError{Source: trace.SourceFile, Path: pick(n, "/a", "/b"), Line: n.rng.IntN(3), Message: message})
	case 9:
		n.Point(n.at, none, 0, &trace.Source{Source: trace.SourceFile, Op: trace.OpAdd, Path: pick(n, "/a", "/b")})
		n.begin(none, 0, &trace.Source{Source: trace.SourceName(pick(n, "file", "api")), Op: trace.OpSet, Pods: n.n, Path: pick(n, "", "/dir")})
	case 10:
		n.Point(n.at, none, 0, &trace.PLEGMode{Mode: pick(n, trace.PLEGEvented, trace.PLEGRelists), Reason: fmt.Sprint(n.n)})
	case 11:
		n.begin(none, 0, &trace.PLEGRelist{Cause: "period"})
	case 12:
		n.begin(none, 0, &trace.Wait{For: pick(n, trace.WaitTokens, trace.WaitApproval), Target: trace.Target{Kind: trace.TargetClient}})
	case 13:
		n.Point(n.at, none, 0, &trace.Usage{CPU: time.Duration(n.n)})
	case 14:
		n.Point(n.at, none, 0, &trace.NodeDescribed{Node: "lab-1", Resources: []trace.NodeResource{{Name: "cpu", Capacity: fmt.Sprint(n.n)}}})
		n.Point(n.at, none, 0, &trace.RuntimeDescribed{Changed: []string{fmt.Sprint("handler ", n.n)}})
		n.Point(n.at, none, 0, &trace.Certificate{Use: pick(n, trace.UseClient, trace.UseServing), Serial: fmt.Sprint(n.n)})
	case 15:
		n.Point(n.at, none, 0, &trace.DevicePlugin{
			Op:       pick(n, trace.PluginRegistered, trace.PluginRegistered, trace.PluginDevices, trace.PluginGone, trace.PluginRemoved, trace.PluginRefused),
			Resource: pick(n, "a.com/gpu", "a.com/nic"), Socket: pick(n, "a", "b"), Healthy: n.rng.IntN(9), PreStart: n.chance(50), Err: pick(n, "", "EOF"),
		})
		n.Point(n.at, none, 0, &trace.DevicePlugin{Op: trace.PluginListed, Resource: pick(n, "b.com/gpu", "b.com/nic"), Healthy: n.rng.IntN(9)})
	case 16:
		n.Point(n.at, none, 0, &trace.ClaimDescribed{
			Namespace: pick(n, "a", "b"), Name: pick(n, "gpu", "nic"), UID: fmt.Sprint(n.n),
			State: pick(n, trace.ClaimRestored, trace.ClaimPreparing, trace.ClaimReady, trace.ClaimFailed, trace.ClaimUnpreparing, trace.ClaimStuck, trace.ClaimGone),
		})
		if n.chance(30) {
			n.Point(n.at, none, 0, &trace.ResourcesDescribed{
				CPUPolicy: "static", MemoryPolicy: "Static", Nodes: []trace.NUMANode{{CPUs: "0-3"}, {ID: 1, CPUs: "4-7"}}, Reserved: "0", Pool: "0-7",
				Memory: []trace.NUMAMemory{{Resource: "memory", Total: 100, Allocatable: 90, Free: 90}},
			})
		}
	}
}

func (n *node) ofPod(l *life) {
	p := l.pod
	n.n++
	vol := pick(n, "data", "token", "config")
	switch n.rng.IntN(25) {
	case 0, 1:
		n.milestone(l)
	case 2:
		total := 1 + n.rng.IntN(2)
		n.Point(n.at, p, 0, &trace.PodStatus{Phase: trace.PodPhase(pick(n, "Pending", "Running", "Running", "Running", "Failed")), Ready: n.rng.IntN(total + 1), Total: total, IP: fmt.Sprint(n.n)})
	case 3:
		n.Point(n.at, p, 0, &trace.Worker{From: trace.WorkerNone, To: trace.WorkerState(pick(n, "syncing", "syncing", "syncing", "terminating")), Reason: fmt.Sprint(n.n)})
	case 4:
		n.begin(p, n.parent(trace.Pod{}, &trace.Loop{}), &trace.Sync{Why: trace.SyncAgain, Cause: fmt.Sprint(n.n), N: n.n})
	case 5:
		n.begin(p, n.parent(p, &trace.Sync{}), &trace.Action{ID: fmt.Sprint("create ", n.n), Verb: trace.VerbCreate})
	case 6:
		n.Point(n.at, p, n.parent(p, &trace.Sync{}), &trace.Plan{Steps: []trace.PlanStep{{ID: fmt.Sprint(n.n)}}})
	case 7:
		n.Point(n.at, p, 0, &trace.Decision{By: trace.Decider(pick(n, "backoff", "restart", "admission")), Subject: "web", Until: tape.Epoch.Add(n.at + time.Minute).UnixNano()})
	case 8:
		n.begin(p, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: pick(n, trace.TargetContainer, trace.TargetStatuses), Name: "web"}})
	case 9:
		n.begin(p, n.parent(p, &trace.CSICall{}, &trace.Volume{}), &trace.Wait{For: pick(n, trace.WaitAttach, trace.WaitLock), Target: trace.Target{Kind: trace.TargetVolume, Name: vol}})
	case 10:
		n.begin(p, n.parent(p, &trace.Action{}), &trace.ImagePull{Image: fmt.Sprint("a:", n.n)})
	case 11, 12:
		id := n.parent(p, &trace.ImagePull{})
		if pull, ok := n.open[id].event.(*trace.ImagePull); ok {
			n.Point(n.at, p, id, &trace.ImageProgress{Image: pull.Image, Done: int64(n.n)})
		}
	case 13:
		for _, b := range n.open { // operations on a volume come one after the other
			if e, ok := b.event.(*trace.Volume); ok && b.pod == p && e.Name == vol {
				return
			}
		}
		n.begin(p, n.parent(p, &trace.Action{}), &trace.Volume{
			Op: pick(n, trace.VolumeSetup, trace.VolumeTeardown, trace.VolumeRefresh, trace.VolumeGrow), Name: vol, Plugin: "kubernetes.io/csi", Path: "/p/" + vol,
		})
	case 14:
		n.Point(n.at, p, 0, &trace.Volume{Op: "adopt", Name: vol, Plugin: "kubernetes.io/csi", Path: "/p/" + vol})
		n.Point(n.at, p, 0, &trace.Decision{By: trace.ByVolumes, Subject: "volume x", Volume: vol, Verdict: pick(n, trace.VerdictUnhealthy, trace.VerdictHealthy), Reason: fmt.Sprint(n.n)})
	case 15:
		n.begin(p, n.parent(p, &trace.Volume{}), &trace.CSICall{Driver: "d", Method: fmt.Sprint("NodeStageVolume", n.n)})
	case 16:
		n.Point(n.at, p, n.parent(p, &trace.Volume{}), &trace.VolumeProgress{Op: "fsgroup", Files: int64(n.n)})
	case 17:
		changed := []trace.Change{pick(n,
			trace.Change{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"},
			trace.Change{What: trace.ChangeField, Name: "phase", To: "Running"})}
		n.begin(p, 0, &trace.StatusPatch{Op: trace.PatchOp(pick(n, "patch", "patch", "delete")), Version: uint64(n.n), Changed: changed, Age: time.Millisecond})
	case 18:
		n.begin(p, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeKind(pick(n, "liveness", "readiness")), How: trace.ProbeExec, Early: n.chance(20)})
	case 19:
		n.begin(p, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: pick(n, "liveness", "readiness"), Container: "web"}, Until: tape.Epoch.Add(n.at + time.Duration(1+n.rng.IntN(9))*time.Second).UnixNano()})
	case 20:
		n.begin(p, n.parent(p, &trace.Action{}), &trace.CRICall{Method: pick(n, "CreateContainer", "PullImage"), Request: trace.BodyOf(raw(`{"a":1}`), 50)})
	case 21:
		now := tape.Epoch.Add(n.at).UnixNano()
		n.Point(n.at, p, n.parent(p, &trace.CRICall{}), &trace.RuntimeSpan{Name: "x", Start: now - int64(n.rng.IntN(1e9))})
	case 22:
		n.Point(n.at, p, 0, &trace.Allocation{
			Manager: trace.ManagerCPU, Outcome: pick(n, trace.AllocationGranted, trace.AllocationKept, trace.AllocationReleased, trace.AllocationRefused),
			Container: pick(n, "web", "side"), CPUs: pick(n, "1", "2-3"), Pool: pick(n, "", "0,4-7"), Code: pick(n, "TopologyAffinityError", "SMTAlignmentError"),
		})
		n.Point(n.at, p, 0, &trace.Allocation{
			Manager: trace.ManagerMemory, Outcome: pick(n, trace.AllocationGranted, trace.AllocationReleased), Container: "web",
			Free: []trace.NodeMemory{{Resource: "memory", Bytes: uint64(n.rng.IntN(90)), Nodes: pick(n, "0", "1")}},
		})
	case 23:
		n.Point(n.at, p, 0, &trace.DeviceAllocation{
			Container: pick(n, "web", "side"), Resource: pick(n, "a.com/gpu", "a.com/nic"), Count: 1, IDs: []string{pick(n, "g0", "g1")},
			Outcome: pick(n, trace.DevicesAllocated, trace.DevicesKept, trace.DevicesPrepared, trace.DevicesRefused, trace.DevicesReleased),
		})
	case 24:
		n.Point(n.at, p, 0, &trace.Worker{To: trace.WorkerTerminated})
		n.Point(n.at, p, 0, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: pick(n, "OutOfcpu", "NodePorts")})
	}
}

func (n *node) milestone(l *life) {
	names := []string{"seen", "started", "ready", "terminating", "gone"}
	name := names[l.next%len(names)]
	e := &trace.Milestone{Name: trace.MilestoneName(name)}
	switch name {
	case "seen":
		e.Source = trace.SourceName(pick(n, "file", "api"))
		e.Spec = &trace.PodSpec{QoS: "Burstable", Volumes: []string{"data", "token"}}
		e.Adopted = n.chance(10)
	case "started", "ready":
		e.Since = time.Duration(n.rng.IntN(9)) * time.Second
	}
	n.Point(n.at, l.pod, 0, e)
	if name == "terminating" && n.chance(30) { // a static pod comes back while its last life ends
		n.Point(n.at, l.pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
		n.Point(n.at, l.pod, 0, &trace.Milestone{Name: trace.MilestoneGone})
		l.next = 1
		return
	}
	l.next++
	if n.chance(50) && name == "gone" { // gone for good
		l.next--
	}
}

// maxPlayed and maxPieces bound an input, so that it takes a tenth of a second: Go's fuzzer takes one of 10 s for hung, and the machine may
// be busy.
const (
	maxPlayed = 1000
	maxPieces = 8
)

func FuzzLateIsTheSame(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint16(800), uint8(100))
	}
	f.Add(uint64(14), uint16(987), uint8('3'))
	f.Fuzz(func(t *testing.T, seed uint64, records uint16, piece uint8) {
		recs := play(seed, int(records%maxPlayed))
		check(t, recs, max(int(piece), len(recs)/maxPieces+1), never)
	})
}

// TestHoles loses pieces of the stream on its way to both.
func TestHoles(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			check(t, play(seed, 400), 20, func(i int) bool { return i > 0 && i%5 == 0 })
		})
	}
}
