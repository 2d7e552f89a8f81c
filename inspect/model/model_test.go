package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

const ms = time.Millisecond

var (
	web = trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	db  = trace.Pod{Namespace: "shop", Name: "db", UID: "2"}
)

func when(d time.Duration) time.Time { return tape.Epoch.Add(d) }

func apply(m *Model, recs []trace.Record) {
	for i := range recs {
		m.Apply(&recs[i])
	}
}

func modelOf(t *tape.Tape) *Model {
	m := New(Options{})
	apply(m, t.Records())
	return m
}

// started adds a start of one container that takes from 0 to d.
func started(t *tape.Tape, pod trace.Pod, at, d time.Duration) {
	t.Point(at, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Spec: &trace.PodSpec{QoS: "Burstable"}})
	s := t.Begin(at, pod, 0, &trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
	a := t.Begin(at, pod, s, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	c := t.Begin(at, pod, a, &trace.CRICall{Method: "StartContainer"})
	t.End(at+d, c, &trace.CRICall{Method: "StartContainer", Code: "OK"})
	t.End(at+d, a, nil)
	t.Point(at+d, pod, s, &trace.Milestone{Name: trace.MilestoneStarted, Since: d})
	t.End(at+d, s, nil)
}

func ready(t *tape.Tape, pod trace.Pod, at, since time.Duration) {
	t.Point(at, pod, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, IP: "10.0.0.2"})
	t.Point(at, pod, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: since})
}

func TestStart(t *testing.T) {
	tp := tape.New()
	started(tp, web, 0, 100*ms)
	ready(tp, web, 150*ms, 150*ms)
	m := modelOf(tp)
	p, ok := m.Pod(web)
	if !ok || p.State() != StateReady || p.QoS != "Burstable" || p.IP != "10.0.0.2" {
		t.Errorf("pod %+v, state %s", p, p.State())
	}
	want := []Start{{
		Pod: web, Source: trace.SourceFile, Seen: when(0), Started: when(100 * ms), Ready: when(150 * ms),
		ToStarted: 100 * ms, ToReady: 150 * ms,
		Segments: []Segment{{waterfall.Part{Kind: waterfall.SegmentWork, Verb: trace.VerbStart, ID: "start web"}, 100 * ms}}, Cause: "start web 100ms: StartContainer took 100ms", Reason: "StartContainer took 100ms", Floor: 100 * ms,
	}}
	if diff := cmp.Diff(want, m.Starts()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(StartStats{1, 100 * ms, 100 * ms, 100 * ms}, m.StartStats()); diff != "" {
		t.Error(diff)
	}
	if w := p.Worker; w.Syncs != 1 || w.Errors != 0 || w.Current.Running || w.Last.Dur != 100*ms {
		t.Errorf("worker %+v", w)
	}
	if wf, err := m.Waterfall(web, when(time.Hour)); err != nil || wf.Ready != 150*ms || wf.End != 150*ms {
		t.Errorf("waterfall %+v, %v", wf, err)
	}
}

func TestStates(t *testing.T) {
	seen := func(tp *tape.Tape) { tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen}) }
	for want, story := range map[State]func(*tape.Tape){
		StateUnknown:  func(tp *tape.Tape) { tp.Point(0, web, 0, &trace.Log{Message: "hm"}) },
		StateStarting: seen,
		StateBackingOff: func(tp *tape.Tape) {
			seen(tp)
			tp.Begin(ms, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "image x"}})
		},
		StateNotReady: func(tp *tape.Tape) { started(tp, web, 0, ms) },
		StateReady:    func(tp *tape.Tape) { started(tp, web, 0, ms); ready(tp, web, ms, ms) },
		StateCompleted: func(tp *tape.Tape) { // stays on the node: its worker has terminated it
			started(tp, web, 0, ms)
			tp.Point(2*ms, web, 0, &trace.Worker{From: trace.WorkerSyncing, To: trace.WorkerTerminating})
			tp.Point(2*ms, web, 0, &trace.PodStatus{Phase: trace.PodSucceeded, Total: 1})
			tp.Point(3*ms, web, 0, &trace.Worker{From: trace.WorkerTerminating, To: trace.WorkerTerminated})
		},
		StateFailed: func(tp *tape.Tape) {
			started(tp, web, 0, ms)
			tp.Point(2*ms, web, 0, &trace.PodStatus{Phase: trace.PodFailed, Total: 1})
		},
		StateTerminating: func(tp *tape.Tape) {
			started(tp, web, 0, ms)
			tp.Point(2*ms, web, 0, &trace.Worker{From: trace.WorkerSyncing, To: trace.WorkerTerminating})
		},
		StateGone: func(tp *tape.Tape) { seen(tp); tp.Point(2*ms, web, 0, &trace.Milestone{Name: trace.MilestoneGone}) },
	} {
		t.Run(string(want), func(t *testing.T) {
			tp := tape.New()
			story(tp)
			m := modelOf(tp)
			if p, _ := m.Pod(web); p.State() != want {
				t.Errorf("state %q, want %q", p.State(), want)
			}
			c := m.Counts()
			total := c.Total
			if parts := c.Ready + c.NotReady + c.Starting + c.BackingOff + c.Terminating + c.Completed + c.Failed + c.Unknown; parts != total {
				t.Errorf("the parts are %d of %d: %+v", parts, total, c)
			}
			if live := len(m.Pods()); live != total || live+len(m.GonePods()) != 1 {
				t.Errorf("%d live, %d gone, %d counted", live, len(m.GonePods()), total)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Decision{By: trace.ByBackoff, Verdict: trace.VerdictWait, Until: when(10 * time.Second).UnixNano()})
	w := tp.Begin(ms, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "image x"}, Cause: "no such image", Class: trace.Classify("no such image")})
	m := modelOf(tp)
	p, _ := m.Pod(web)
	if diff := cmp.Diff(Backoff{Wait: trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "image x"}, Cause: "no such image", Class: trace.Classify("no such image")}, Since: when(ms), Until: when(10 * time.Second)}, p.Backoff); diff != "" {
		t.Error(diff)
	}
	own := tp.Begin(2*ms, db, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Until: when(4 * time.Second).UnixNano()})
	if p, _ = modelOf(tp).Pod(db); !p.Backoff.Until.Equal(when(4 * time.Second)) {
		t.Errorf("a wait that says until when it is: %s", p.Backoff.Until)
	}
	tp.End(4*time.Second, own, nil)
	tp.End(10*time.Second, w, nil)
	m = modelOf(tp)
	if p, _ = m.Pod(web); p.Backoff.Active() || p.Worker.Waits[0] != (WaitTotal{trace.WaitBackoff, 1, 10*time.Second - ms}) {
		t.Errorf("after its end: %+v %+v", p.Backoff, p.Worker.Waits)
	}
}

func TestLateReader(t *testing.T) {
	tp := tape.New()
	started(tp, web, 0, 100*ms)
	ready(tp, web, 150*ms, 150*ms)
	l := tp.Begin(200*ms, trace.Pod{}, 0, &trace.Loop{N: 7, Case: trace.LoopPLEG})
	tp.End(203*ms, l, &trace.Loop{N: 7, Case: trace.LoopPLEG, Pods: 1})
	for i := range tp.Records() {
		m := New(Options{})
		apply(m, tp.Records()[i:])
		if got := len(m.InFlight()); got != 0 {
			t.Errorf("from record %d: %d calls in flight", i, got)
		}
		for _, c := range m.Calls() {
			if c.Dur != 100*ms || !c.Begin.Equal(when(0)) {
				t.Errorf("from record %d: call %+v", i, c)
			}
		}
		if n := len(m.Starts()); n > 0 && !m.Starts()[0].Seen.Equal(when(0)) {
			t.Errorf("from record %d: seen %v", i, m.Starts()[0].Seen)
		}
		if ls := m.Loops(); len(ls) != 1 || ls[0].Dur != 3*ms || ls[0].N != 7 || ls[0].Running {
			t.Errorf("from record %d: loops %+v", i, ls)
		}
	}
}

func TestLostEnds(t *testing.T) {
	tp := tape.New()
	s := tp.Begin(0, web, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	a := tp.Begin(ms, web, s, &trace.Action{ID: "create web", Verb: trace.VerbCreate})
	tp.Begin(ms, web, a, &trace.CRICall{Method: "CreateContainer"})
	tp.Begin(ms, web, a, &trace.Wait{For: trace.WaitQueue})
	m := modelOf(tp)
	m.Lost(3)
	p, _ := m.Pod(web)
	if !p.Actions[0].Uncertain || !p.Waits[0].Uncertain || !p.Worker.Current.Uncertain || !m.InFlight()[0].Uncertain {
		t.Errorf("after a loss: %+v, %+v", p, m.InFlight())
	}
	if m.Node().Lost != 3 {
		t.Errorf("lost %d", m.Node().Lost)
	}
	n := len(tp.Recs)
	tp.Begin(5*ms, web, 0, &trace.Sync{Why: trace.SyncAgain, N: 2})
	apply(m, tp.Records()[n:])
	p, _ = m.Pod(web)
	if len(p.Actions) != 0 || len(p.Waits) != 0 || len(m.InFlight()) != 0 || p.Worker.Current.N != 2 || p.Worker.Current.Uncertain {
		t.Errorf("the next sync does not settle the last: %+v, %+v", p, m.InFlight())
	}
}

func TestDoubtEnds(t *testing.T) {
	tp := tape.New()
	tp.Begin(0, trace.Pod{}, 0, &trace.CRICall{Method: "ListContainers"})
	m := modelOf(tp)
	m.Lost(1)
	late := tape.New()
	late.Point(time.Hour, trace.Pod{}, 0, &trace.Log{Message: "an hour later"})
	apply(m, late.Records())
	if len(m.InFlight()) != 0 {
		t.Errorf("in flight after an hour of doubt: %+v", m.InFlight())
	}
}

func TestAgentRestart(t *testing.T) {
	tp := tape.New()
	tp.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentReady, Node: "lab-1", Runtime: "containerd"})
	tp.Begin(ms, web, 0, &trace.CRICall{Method: "PullImage"})
	tp.Point(2*ms, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStarting, PID: 7})
	m := modelOf(tp)
	n := m.Node()
	if len(m.InFlight()) != 0 || !n.Since.Equal(when(2*ms)) || n.Name != "lab-1" || n.PID != 7 || n.State != trace.AgentStarting {
		t.Errorf("%+v, in flight %+v", n, m.InFlight())
	}
}

func TestMethods(t *testing.T) {
	tp := tape.New()
	for i := range 100 {
		c := tp.Begin(0, web, 0, &trace.CRICall{Method: "RunPodSandbox"})
		end := &trace.CRICall{Method: "RunPodSandbox", Code: "OK"}
		if i == 99 {
			end.Code, end.Err = "Unavailable", "gone"
		}
		tp.End(time.Duration(i+1)*ms, c, end)
	}
	tp.Begin(50*ms, web, 0, &trace.CRICall{Method: "PullImage", Image: "redis"})
	m := modelOf(tp)
	want := []Method{{Name: "PullImage", InFlight: 1}, {Name: "RunPodSandbox", Count: 100, Errors: 1, P50: 50 * ms, P99: 99 * ms, Max: 100 * ms}}
	if diff := cmp.Diff(want, m.Methods(when(time.Second))); diff != "" {
		t.Error(diff)
	}
	if got := m.Methods(when(2 * time.Minute)); len(got) != 1 || got[0].Name != "PullImage" {
		t.Errorf("two minutes later: %+v", got)
	}
	if c := m.InFlight()[0]; c.Target != "redis" || c.Age(when(time.Second)) != 950*ms {
		t.Errorf("in flight %+v", c)
	}
}

func TestLoopChildrenAndGC(t *testing.T) {
	tp := tape.New()
	l := tp.Begin(0, trace.Pod{}, 0, &trace.Loop{N: 1, Case: trace.LoopConfig})
	s := tp.Begin(ms, web, l, &trace.Sync{Why: trace.SyncCreate, Cause: "ADD"})
	tp.End(2*ms, s, nil)
	tp.End(2*ms, l, nil)
	g := tp.Begin(3*ms, trace.Pod{}, 0, &trace.GC{What: trace.GCImages, Cause: trace.GCPeriod})
	tp.Point(4*ms, trace.Pod{}, g, &trace.Decision{By: trace.ByImageGC, Subject: "redis", Verdict: trace.VerdictRemove, Bytes: 5})
	tp.Point(4*ms, trace.Pod{}, 0, &trace.Decision{By: trace.ByAdmission, Subject: "web", Verdict: trace.VerdictAdmit})
	tp.End(5*ms, g, &trace.GC{What: trace.GCImages, Cause: trace.GCPeriod, Considered: 1, Removed: 1, Freed: 5})
	m := modelOf(tp)
	if l := m.Loops()[0]; l.Children != 1 || say.Named(l.Caused[0].Pod, l.Caused[0].Event) != "pod.sync shop/web create ADD" {
		t.Errorf("loop %+v", l)
	}
	ps := m.Passes()
	if len(ps) != 1 || ps[0].Freed != 5 || ps[0].Dur != 2*ms || len(ps[0].Decisions) != 1 || ps[0].Running {
		t.Errorf("passes %+v", ps)
	}
	if len(m.Decisions()) != 2 {
		t.Errorf("decisions %+v", m.Decisions())
	}
}

func TestProgress(t *testing.T) {
	tp := tape.New()
	pull := tp.Begin(0, web, 0, &trace.ImagePull{Image: "redis"})
	tp.Point(ms, web, pull, &trace.ImageProgress{Image: "redis", Done: 1, Total: 4})
	m := modelOf(tp)
	p, _ := m.Pod(web)
	if len(p.Pulls) != 1 || p.Pulls[0].Done != 1 || p.Pulls[0].Total != 4 || !p.Pulls[0].Since.Equal(when(0)) {
		t.Errorf("pulls %+v", p.Pulls)
	}
	late := New(Options{})
	apply(late, tp.Records()[1:])
	if p, _ = late.Pod(web); len(p.Pulls) != 1 || !p.Pulls[0].Since.IsZero() {
		t.Errorf("seen late: %+v", p.Pulls)
	}
	n := len(tp.Recs)
	tp.End(5*ms, pull, nil)
	apply(late, tp.Records()[n:])
	apply(m, tp.Records()[n:])
	for _, m := range []*Model{m, late} {
		if p, _ = m.Pod(web); len(p.Pulls) != 0 {
			t.Errorf("pulls after the end: %+v", p.Pulls)
		}
	}
}

func TestSecondLife(t *testing.T) {
	for _, name := range []string{"after it is gone", "while it terminates"} {
		t.Run(name, func(t *testing.T) {
			tp := tape.New()
			started(tp, web, 0, 5*ms)
			tp.Point(10*ms, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
			gone, again := 12*ms, 15*ms
			if name == "while it terminates" {
				gone, again = 15*ms, 12*ms
			}
			tp.Point(gone, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
			tp.Point(again, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
			tp.Point(16*ms, web, 0, &trace.Worker{From: trace.WorkerTerminated, To: trace.WorkerGone}) // the first life's
			tp.Point(17*ms, web, 0, &trace.Worker{From: trace.WorkerNone, To: trace.WorkerSyncing})
			m := modelOf(tp)
			p, _ := m.Pod(web)
			if p.State() != StateStarting || !p.Start.Seen.Equal(when(again)) || len(m.GonePods()) != 0 {
				t.Errorf("second life: %s %+v", p.State(), p)
			}
			more := tape.New()
			more.Point(20*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 20*ms - again})
			apply(m, more.Records())
			if n := len(m.Starts()); n != 2 {
				t.Errorf("%d starts", n)
			}
		})
	}
}

func TestAdopted(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Adopted: true})
	tp.Point(ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: ms, Adopted: true})
	tp.Point(2*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 2 * ms, Adopted: true})
	m := modelOf(tp)
	if len(m.Starts()) != 0 {
		t.Errorf("an adopted pod counts as a start: %+v", m.Starts())
	}
	if p := m.Pods()[0]; p.Start.ToStarted != 0 || p.Start.ToReady != 0 || p.Start.Started.IsZero() {
		t.Errorf("how long it took to start is not known: %+v", p.Start)
	}
	if _, err := m.Waterfall(web, when(0)); !errors.Is(err, waterfall.ErrAdopted) {
		t.Errorf("waterfall: %v", err)
	}
}

// TestAlarmsStay: ordinary lines do not evict an error, and lines are in order.
func TestAlarmsStay(t *testing.T) {
	tp := tape.New()
	for i := range 3000 {
		level := trace.LevelInfo
		if i%1000 == 7 {
			level = trace.LevelError
		}
		tp.Point(0, trace.Pod{}, 0, &trace.Log{Level: level, Message: "m"})
	}
	alarms, last := 0, uint64(0)
	for _, l := range modelOf(tp).Lines() {
		if l.Seq <= last {
			t.Errorf("line %d is behind line %d", l.Seq, last)
		}
		last = l.Seq
		if l.Level == trace.LevelError {
			alarms++
		}
	}
	if alarms != 3 {
		t.Errorf("%d errors are left of 3", alarms)
	}
}

func TestSourceErrorsAndLines(t *testing.T) {
	tp := tape.New()
	bad := &trace.SourceError{Source: trace.SourceFile, Path: "a.yaml", Line: 3, Field: "spec", Message: "is odd", Kept: true}
	tp.Point(0, trace.Pod{}, 0, bad)
	tp.Point(0, web, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "Failed", Message: "no", Field: "spec.containers{main}"})
	tp.Point(0, trace.Pod{}, 0, &trace.Log{Level: trace.LevelInfo, Message: "hello", Attrs: []trace.KV{{K: "n", V: "1"}}})
	m := modelOf(tp)
	if es := m.SourceErrors(); len(es) != 1 || es[0].Line != 3 {
		t.Errorf("source errors %+v", es)
	}
	var texts []string
	for _, l := range m.Lines() {
		texts = append(texts, string(l.Level)+" "+l.Reason+" "+l.Text)
	}
	want := []string{"error  a.yaml:3: spec: is odd (the earlier version stays in effect)", "warn Failed main: no", "info  hello n=1"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	for what, e := range map[string]trace.Event{
		"delivered":      &trace.Source{Source: trace.SourceFile, Op: trace.OpUpdate, Path: "a.yaml"},
		"an empty error": &trace.SourceError{Source: trace.SourceFile, Path: "a.yaml"},
	} {
		m := New(Options{})
		again := tape.New()
		again.Point(0, trace.Pod{}, 0, bad)
		again.Point(0, trace.Pod{}, 0, bad)
		other := *bad
		other.Line = 9
		again.Point(0, trace.Pod{}, 0, &other)
		apply(m, again.Records())
		if n := len(m.SourceErrors()); n != 2 {
			t.Errorf("%d errors, want 2", n)
		}
		mended := tape.New()
		mended.Point(ms, trace.Pod{}, 0, e)
		apply(m, mended.Records())
		if es := m.SourceErrors(); len(es) != 0 {
			t.Errorf("mended by %s: %+v", what, es)
		}
	}
}

func TestKeptRecords(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	pull := tp.Begin(0, web, 0, &trace.ImagePull{Image: "redis"})
	for i := range 50 {
		tp.Point(time.Duration(i)*ms, web, pull, &trace.ImageProgress{Image: "redis", Done: int64(i)})
	}
	tp.Point(50*ms, web, 0, &trace.CRICall{Method: "RunPodSandbox", Request: trace.BodyOf(json.RawMessage("{}"), 2)})
	tp.Point(50*ms, web, 0, &trace.Log{})
	tp.Point(60*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 60 * ms})
	m := New(Options{PerRun: 8})
	apply(m, tp.Records())
	recs, cut := m.StartRecords(web)
	var kinds []string
	for _, r := range recs {
		kinds = append(kinds, r.Event.Kind().String())
		if c, ok := r.Event.(*trace.CRICall); ok && !c.Request.IsZero() {
			t.Error("a body is kept with the start")
		}
	}
	want := []string{"pod.milestone", "image.pull", "image.progress", "cri.call", "log", "pod.milestone"} // the first four, and the newest; the last progress
	if diff := cmp.Diff(want, kinds); diff != "" || !cut {
		t.Errorf("cut %v (-want +got):\n%s", cut, diff)
	}
	if m.Calls()[0].Request.IsZero() {
		t.Error("the call has lost its body")
	}
	if wf, err := m.Waterfall(web, when(0)); err != nil || !wf.Incomplete || wf.Started != 60*ms {
		t.Errorf("waterfall %+v, %v", wf, err)
	}
}

func TestRate(t *testing.T) {
	tp := tape.New()
	for i := range 50 {
		tp.Point(time.Duration(i)*100*ms, trace.Pod{}, 0, &trace.Log{})
	}
	m := modelOf(tp)
	if got := m.Rate(when(5 * time.Second)); got != 10 {
		t.Errorf("rate %v, want 10", got)
	}
	if got := m.Rate(when(time.Minute)); got != 0 {
		t.Errorf("rate a minute later %v, want 0", got)
	}
}

// TestBounded applies far more than the limits permit, without a single end.
func TestBounded(t *testing.T) {
	opt := Options{Pods: 20, Loops: 5, Calls: 5, Samples: 5, Decisions: 5, Passes: 3, Lines: 5, Gone: 4, Starts: 5, Runs: 6, PerRun: 14, Open: 30}
	m := New(opt)
	tp := tape.New()
	for i := range 300 {
		pod := trace.Pod{Name: fmt.Sprint(i)}
		at := time.Duration(i) * time.Second
		started(tp, pod, at, ms)
		for range 10 {
			tp.Begin(at, pod, 0, &trace.Wait{For: trace.WaitQueue})
			tp.Begin(at, pod, 0, &trace.CRICall{Method: "PullImage"})
		}
		tp.Begin(at, trace.Pod{}, 0, &trace.Loop{N: uint64(i)})
		tp.Begin(at, trace.Pod{}, 0, &trace.GC{What: trace.GCImages})
		tp.Point(at, trace.Pod{}, 0, &trace.Decision{By: "x"})
		tp.Point(at, trace.Pod{}, 0, &trace.Log{Message: "x"})
		tp.Point(at, trace.Pod{}, 0, &trace.Pressure{Signal: trace.Signal(fmt.Sprint(i))})
		tp.Point(at, trace.Pod{}, 0, &trace.SourceError{Path: fmt.Sprint(i)})
		if i%2 == 0 {
			tp.Point(at+ms, pod, 0, &trace.Milestone{Name: trace.MilestoneGone})
		}
	}
	apply(m, tp.Records())
	for _, run := range m.Kept().Runs() {
		if n := len(run.Records()); n > opt.PerRun+opt.Open {
			t.Errorf("%d records kept of one run", n)
		}
	}
	for what, c := range map[string][2]int{
		"pods": {len(m.pods), opt.Pods}, "loops": {len(m.Loops()), opt.Loops}, "loop index": {len(m.loopOf), opt.Loops},
		"calls": {len(m.Calls()), opt.Calls}, "in flight": {len(m.InFlight()), opt.Calls}, "decisions": {len(m.Decisions()), opt.Decisions},
		"passes": {len(m.Passes()), opt.Passes}, "pass index": {len(m.passOf), opt.Passes}, "lines": {len(m.Lines()), opt.Lines},
		"gone": {len(m.GonePods()), opt.Gone}, "starts": {len(m.Starts()), opt.Starts}, "runs": {len(m.Kept().Runs()), opt.Runs},
		"open": {m.Kept().Open(), opt.Open}, "pressure": {len(m.Pressure()), maxSignals}, "source errors": {len(m.SourceErrors()), maxSourceFiles},
	} {
		if c[0] > c[1] {
			t.Errorf("%s: %d, want at most %d", what, c[0], c[1])
		}
	}
	if got := m.Loops(); got[len(got)-1].N != 299 || got[0].N != 295 {
		t.Errorf("loops %d to %d", got[0].N, got[len(got)-1].N)
	}
}

// TestEveryKind applies every kind on every edge, empty, without a pod and with one.
func TestEveryKind(t *testing.T) {
	m := New(Options{})
	var seq uint64
	for _, name := range trace.Kinds() {
		for _, edge := range []trace.Edge{trace.EdgeBegin, trace.EdgePoint, trace.EdgeEnd} {
			for _, pod := range []trace.Pod{{}, web, db} {
				e, _ := trace.New(name)
				seq++
				m.Apply(&trace.Record{Seq: seq, Time: int64(seq), Edge: edge, Span: trace.SpanID(seq / 3), Pod: pod, Event: e})
				say.Brief(e)
			}
		}
	}
	m.Apply(nil)
	m.Apply(&trace.Record{})
	if got := m.Node().Records; got != seq {
		t.Errorf("%d records, want %d", got, seq)
	}
}

func TestViewsAreCopies(t *testing.T) {
	tp := tape.New()
	l := tp.Begin(0, trace.Pod{}, 0, &trace.Loop{N: 1})
	s := tp.Begin(ms, web, l, &trace.Sync{N: 1})
	tp.Begin(ms, web, s, &trace.Action{ID: "create web"})
	m := modelOf(tp)
	m.Loops()[0].Caused[0].Pod.Name = "spoilt"
	p, _ := m.Pod(web)
	p.Actions[0].ID = "spoilt"
	if m.Loops()[0].Caused[0].Pod.Name == "spoilt" || m.Pods()[0].Actions[0].ID == "spoilt" {
		t.Error("a view shares memory with the model")
	}
}

// TestLateSpans: spans of a start that arrive after it are kept with it; those of a later call are not.
func TestLateSpans(t *testing.T) {
	span := func(at time.Duration) *trace.RuntimeSpan {
		return &trace.RuntimeSpan{Name: "cni.Setup", Start: tape.Epoch.Add(at).UnixNano(), Dur: ms}
	}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	tp.Point(60*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 60 * ms})
	tp.Point(70*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 70 * ms})
	tp.Point(2000*ms, web, 0, span(20*ms))
	tp.Point(2000*ms, web, 0, span(500*ms))
	tp.Point(2001*ms, web, 0, span(30*ms))
	tp.Point(2002*ms, web, 0, span(40*ms))
	m := New(Options{})
	apply(m, tp.Records())
	recs, cut := m.StartRecords(web)
	var got []time.Duration
	for _, r := range recs {
		if e, ok := r.Event.(*trace.RuntimeSpan); ok {
			got = append(got, time.Duration(e.Start-tape.Epoch.UnixNano()))
		}
	}
	if diff := cmp.Diff([]time.Duration{20 * ms, 30 * ms, 40 * ms}, got); diff != "" || cut || len(recs) != 6 {
		t.Errorf("%d records, cut %v, spans (-want +got):\n%s", len(recs), cut, diff)
	}
}
