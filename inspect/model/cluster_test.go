package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

var node = trace.Pod{}

func TestVolumes(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{Volumes: []string{"data", "later"}}})
	act := tp.Begin(0, web, 0, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	wait := tp.Begin(ms, web, act, &trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "data"}})
	tp.End(11*ms, wait, nil)
	vol := tp.Begin(11*ms, web, act, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi", Path: "/p"})
	call := tp.Begin(12*ms, web, vol, &trace.CSICall{Driver: "d", Method: "NodeStageVolume"})
	tp.End(20*ms, call, &trace.CSICall{Driver: "d", Method: "NodeStageVolume", Code: "OK"})
	lock := tp.Begin(20*ms, web, vol, &trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetVolume, Name: "handle-1"}})
	tp.Point(21*ms, web, vol, &trace.VolumeProgress{Op: "fsgroup", Path: "/p", Files: 10})
	m := modelOf(tp)
	vs := m.Volumes()
	if len(vs) != 2 || vs[1].Name != "later" || vs[1].State() != "pending" {
		t.Fatalf("volumes %+v", vs)
	}
	v := vs[0]
	if v.State() != "waiting" || len(v.Waits) != 1 || v.Waits[0].For != trace.WaitLock || v.Progress == nil || v.Progress.Files != 10 {
		t.Errorf("while it is set up: %s %+v", v.State(), v)
	}
	if diff := cmp.Diff([]WaitTotal{{trace.WaitAttach, 1, 10 * ms}}, v.Waited); diff != "" {
		t.Error(diff)
	}
	want := []VolumeCall{{CSICall: trace.CSICall{Driver: "d", Method: "NodeStageVolume", Code: "OK"}, Begin: when(12 * ms), Dur: 8 * ms}}
	if diff := cmp.Diff(want, v.Calls); diff != "" {
		t.Error(diff)
	}

	tp.End(30*ms, lock, nil)
	tp.End(40*ms, vol, nil)
	fresh := tp.Begin(50*ms, web, 0, &trace.Volume{Op: "refresh", Name: "data"})
	tp.End(51*ms, fresh, &trace.Volume{Op: "refresh", Name: "data", Err: "no"})
	v = modelOf(tp).Volumes()[0]
	if v.State() != "failed" || !v.Mounted || v.Setup != 29*ms || v.Errors != 1 || v.Plugin != "kubernetes.io/csi" {
		t.Errorf("after a failed refresh: %s %+v", v.State(), v)
	}
	tp.End(70*ms, tp.Begin(60*ms, web, 0, &trace.Volume{Op: "teardown", Name: "data"}), nil)
	if v = modelOf(tp).Volumes()[0]; v.State() != "unmounted" || v.Mounted {
		t.Errorf("after teardown: %s %+v", v.State(), v)
	}
	tp.Point(80*ms, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	if vs := modelOf(tp).Volumes(); len(vs) != 0 {
		t.Errorf("of a pod that is gone: %+v", vs)
	}
}

func TestStatuses(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	state := func() (string, Status) {
		s := modelOf(tp).Statuses()[0]
		return string(s.State()), s
	}
	if got, _ := state(); got != "not written" {
		t.Errorf("at first: %s", got)
	}
	patch := tp.Begin(10*ms, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Age: 10 * ms})
	if got, s := state(); got != "writing" || !s.Pending.Equal(when(0)) {
		t.Errorf("while it is written: %s %+v", got, s)
	}
	tp.End(15*ms, patch, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Err: "refused", Age: 15 * ms})
	if got, s := state(); got != "failing" || !s.Pending.Equal(when(0)) || s.Errors != 1 {
		t.Errorf("after a failure: %s %+v", got, s)
	}
	wait := tp.Begin(15*ms, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatuses}})
	if got, _ := state(); got != "waiting" {
		t.Errorf("in the back-off: %s", got)
	}
	m := modelOf(tp)
	if p, _ := m.Pod(web); p.Backoff.Active() || p.State() != StateReady {
		t.Errorf("a status that cannot be written makes the pod %s", p.State())
	}
	if a := m.API(); len(a.Waits) != 1 {
		t.Errorf("waits for the API server: %+v", a.Waits)
	}
	tp.End(115*ms, wait, nil)
	tp.End(120*ms, tp.Begin(115*ms, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Attempt: 2, Bytes: 300}), nil)
	got, s := state()
	if got != "in the API" || !s.Pending.IsZero() || s.Good.Attempt != 2 || s.Bytes != 300 || s.Writes != 2 {
		t.Errorf("in the end: %s %+v", got, s)
	}
	if diff := cmp.Diff([]WaitTotal{{trace.WaitBackoff, 1, 100 * ms}}, s.Waited); diff != "" {
		t.Error(diff)
	}
}

func TestAPIHealth(t *testing.T) {
	tp := tape.New()
	call := func(at time.Duration, e trace.APICall) trace.SpanID {
		b := e
		b.Code, b.Err = 0, ""
		id := tp.Begin(at, node, 0, &b)
		tp.End(at+5*ms, id, &e)
		return id
	}
	watch := call(0, trace.APICall{Verb: "watch", Resource: "pods", Code: 200})
	call(10*ms, trace.APICall{Verb: "update", Resource: "leases", Code: 200})
	call(20*ms, trace.APICall{Verb: "get", Resource: "configmaps", Code: 404})
	m := modelOf(tp)
	if a := m.API(); a.Failing != 0 || a.Watches != 1 || a.Calls != 3 || a.Errors != 1 || !a.OK.Equal(when(25*ms)) {
		t.Errorf("while it is well: %+v", a)
	}
	tp.Point(30*ms, node, watch, &trace.APICall{Verb: "watch", Resource: "pods", Ended: true})
	call(30*ms, trace.APICall{Verb: "patch", Resource: "pods/status", Namespace: "shop", Name: "web", Code: 503})
	call(40*ms, trace.APICall{Verb: "update", Resource: "leases", Err: "connection refused"})
	tp.Begin(41*ms, node, 0, &trace.APICall{Verb: "update", Resource: "leases"})
	tp.Begin(45*ms, node, 0, &trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient}})
	st := tp.Begin(46*ms, node, 0, &trace.NodeStatus{Op: "patch", Cause: "period"})
	tp.End(48*ms, st, &trace.NodeStatus{Op: "patch", Cause: "period", Err: "connection refused"})
	m = modelOf(tp)
	a := m.API()
	if a.Failing != 2 || !a.Since.Equal(when(35*ms)) || a.Err != "connection refused" || a.Call != "update leases" || a.Watches != 0 || a.Open != 1 || len(a.Waits) != 1 {
		t.Errorf("when it is gone: %+v", a)
	}
	n := m.NodeObject()
	if !n.Lease.Equal(when(15*ms)) || n.Renewals != 1 || n.LeaseErr != "connection refused" || n.Errors != 1 || !n.Good.At.IsZero() {
		t.Errorf("node %+v", n)
	}
	var names []string
	for _, r := range m.Requests(when(time.Second)) {
		names = append(names, fmt.Sprint(r.Name, " ", r.Count, r.Errors, r.InFlight))
	}
	want := []string{"get configmaps 1 1 0", "patch pods/status 1 1 0", "update leases 2 1 1", "watch pods 1 0 0"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestProbes(t *testing.T) {
	tp := tape.New()
	attempt := func(at time.Duration, e trace.ProbeAttempt) {
		e.Container, e.Probe, e.How = "web", trace.ProbeReadiness, trace.ProbeHTTP
		tp.End(at+2*ms, tp.Begin(at, web, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP}), &e)
	}
	attempt(0, trace.ProbeAttempt{Early: true, Result: trace.ProbeFailure, State: trace.ProbeDenies})
	attempt(10*ms, trace.ProbeAttempt{Result: trace.ProbeFailure, Output: "500", Count: 1, Threshold: 3, State: trace.ProbeDenies})
	tp.Begin(12*ms, web, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}, Until: when(time.Second).UnixNano()})
	m := modelOf(tp)
	want := []Probe{{
		Pod: web, Container: "web", Kind: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeFailure, Output: "500", Count: 1, Threshold: 3,
		State: trace.ProbeDenies, Changed: when(12 * ms), At: when(12 * ms), Dur: 2 * ms, Next: when(time.Second), Attempts: 1, Failures: 1,
	}}
	if diff := cmp.Diff(want, m.Probes(), cmp.AllowUnexported(Probe{})); diff != "" {
		t.Error(diff)
	}
	attempt(time.Second, trace.ProbeAttempt{Result: trace.ProbeSuccess, Count: 1, Threshold: 1, State: trace.ProbeSays})
	if p := modelOf(tp).Probes()[0]; p.State != trace.ProbeSays || !p.Next.IsZero() || p.Attempts != 2 || p.Running {
		t.Errorf("in the end: %+v", p)
	}
}

// TestClusterBounds: many volumes, probes, calls and watches need no more than their limits.
func TestClusterBounds(t *testing.T) {
	tp := tape.New()
	for i := range 3 * maxVolumes {
		at := time.Duration(i) * ms
		v := tp.Begin(at, web, 0, &trace.Volume{Op: "setup", Name: fmt.Sprint("v", i)})
		for range 3 * maxVolumeCalls {
			c := tp.Begin(at, web, v, &trace.CSICall{Driver: "d", Method: "NodeGetInfo"})
			if i%2 == 0 {
				tp.End(at, c, nil)
			}
		}
		tp.Begin(at, web, 0, &trace.ProbeAttempt{Container: fmt.Sprint("c", i), Probe: trace.ProbeLiveness})
	}
	for range maxWatches + 10 {
		tp.End(ms, tp.Begin(0, node, 0, &trace.APICall{Verb: "watch"}), &trace.APICall{Verb: "watch", Code: 200})
	}
	m := New(Options{Open: 1000})
	apply(m, tp.Records())
	if n := len(m.Volumes()); n != maxVolumes {
		t.Errorf("%d volumes", n)
	}
	for _, v := range m.Volumes() {
		if len(v.Calls) > maxVolumeCalls {
			t.Errorf("%d calls", len(v.Calls))
		}
	}
	if len(m.Probes()) != maxProbes || m.API().Watches != maxWatches || m.Kept().Open() > 1000 {
		t.Errorf("%d probes, %d watches, %d spans", len(m.Probes()), m.API().Watches, m.Kept().Open())
	}
	m.Lost(1)
	m.Apply(&trace.Record{Event: &trace.Agent{State: trace.AgentStarting}})
	if a := m.API(); a.Watches != 0 || a.Open != 0 {
		t.Errorf("after a new start: %+v", a)
	}
}

// TestStartGoesOnIntoTheAPI: when a pod is ready, the records of writing its status to the API are kept, and no more.
func TestStartGoesOnIntoTheAPI(t *testing.T) {
	tp := tape.New()
	started(tp, web, 0, 100*ms)
	tp.End(8*ms, tp.Begin(2*ms, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 1}), nil)
	ready(tp, web, 150*ms, 150*ms)
	tp.Point(151*ms, web, 0, &trace.Log{Message: "not kept"})
	patch := tp.Begin(152*ms, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2})
	wf, err := modelOf(tp).Waterfall(web, when(160*ms))
	if err != nil || wf.Told != -1 || wf.End != 160*ms {
		t.Errorf("while it is written: told %v, end %v, %v", wf.Told, wf.End, err)
	}
	tp.End(170*ms, patch, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True"}}})
	tp.End(300*ms, tp.Begin(290*ms, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 3}), nil)
	m := modelOf(tp)
	wf, err = m.Waterfall(web, when(time.Hour))
	if err != nil || wf.Told != 170*ms || wf.End != 170*ms {
		t.Errorf("in the end: told %v, end %v, %v", wf.Told, wf.End, err)
	}
	recs, _ := m.StartRecords(web)
	for _, r := range recs {
		if _, ok := r.Event.(*trace.Log); ok || r.At().After(when(170*ms)) {
			t.Errorf("kept: %s at %v", r.Event.Kind(), r.At())
		}
	}
}
