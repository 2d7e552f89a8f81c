package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

var (
	web = trace.Pod{Namespace: "shop", Name: "web", UID: "u-web"}
	db  = trace.Pod{Namespace: "shop", Name: "db", UID: "u-db"}
)

func fold(t *tape.Tape, opt session.Options) *session.Session {
	s := session.New(opt)
	for _, r := range t.Records() {
		s.Apply(&r)
	}
	return s
}

// live adds one run of a pod: seen, sandbox, started and ready 300 ms later.
func live(t *tape.Tape, pod trace.Pod, at time.Duration) {
	t.Point(at, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := t.Begin(at, pod, 0, &trace.Sync{Why: trace.SyncCreate})
	act := t.Begin(at, pod, sync, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	call := t.Begin(at+ms, pod, act, &trace.CRICall{Method: "RunPodSandbox"})
	t.End(at+299*ms, call, nil)
	t.End(at+300*ms, act, nil)
	t.Point(at+300*ms, pod, sync, &trace.Milestone{Name: trace.MilestoneStarted})
	t.Point(at+300*ms, pod, sync, &trace.Milestone{Name: trace.MilestoneReady})
	t.End(at+301*ms, sync, nil)
}

func names(recs []trace.Record) (out []string) {
	for _, r := range recs {
		switch e := r.Event.(type) {
		case *trace.Milestone:
			out = append(out, string(e.Name))
		case *trace.RuntimeSpan:
			out = append(out, "span "+e.Name)
		case *trace.Log:
			out = append(out, e.Message)
		}
	}
	return out
}

func TestLives(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	live(tp, db, sec)
	tp.Point(2*sec, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	tp.Point(3*sec, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	tp.Point(3*sec+ms, web, 0, &trace.Log{Message: "after its end"})
	live(tp, web, 4*sec)
	s := fold(tp, session.Options{})

	var got []string
	for _, l := range s.Runs() {
		got = append(got, fmt.Sprintf("%s %d %v: %s", l.Pod, l.N, l.From().Sub(tape.Epoch), strings.Join(names(l.Records()), " ")))
	}
	want := []string{
		"shop/web 1 0s: seen started ready terminating gone after its end",
		"shop/db 1 1s: seen started ready",
		"shop/web 2 4s: seen started ready",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	l, err := s.Find("shop/web")
	if err != nil || l.N != 2 {
		t.Fatalf("Find gives run %+v, %v", l, err)
	}
	if w, err := l.Waterfall(time.Time{}); err != nil || w.Started != 300*ms {
		t.Errorf("fall: %+v, %v", w, err)
	}
	first := s.Runs()[0]
	if c := s.Case(first, time.Time{}); !c.Now.Equal(tape.Epoch.Add(4*sec)) || c.Stage() != cause.Over {
		t.Errorf("the first run is asked about at %v, %s", c.Now, c.Stage())
	}
}

func TestLateSpansGoToTheirLife(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	tp.Point(2*sec, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	live(tp, web, 4*sec)
	span := func(at, start time.Duration, pod trace.Pod, name string) {
		tp.Point(at, pod, 0, &trace.RuntimeSpan{Name: name, Start: tape.Epoch.Add(start).UnixNano(), Dur: 100 * ms})
	}
	span(5*sec, 10*ms, web, "late")
	span(5*sec, 10*ms, trace.Pod{}, "late, of the same trace")
	span(5*sec, 4*sec+10*ms, web, "in time")
	tp.Point(5*sec, trace.Pod{}, 0, &trace.Log{Message: "of the node"})
	s := fold(tp, session.Options{})
	want := [][]string{
		{"seen", "started", "ready", "gone", "span late", "span late, of the same trace"},
		{"seen", "started", "ready", "span in time"},
	}
	for i, l := range s.Runs() {
		if diff := cmp.Diff(want[i], names(l.Records())); diff != "" {
			t.Errorf("run %d: %s", i, diff)
		}
	}
}

func TestFind(t *testing.T) {
	tp := tape.New()
	for _, p := range []string{"shop/web-7f9c", "shop/db", "kube-system/dns", "infra/db", "shop/cart", "shop/queue"} {
		ns, name, _ := strings.Cut(p, "/")
		live(tp, trace.Pod{Namespace: ns, Name: name, UID: p}, 0)
	}
	s := fold(tp, session.Options{})
	for ref, want := range map[string]string{
		"shop/db":     "",
		"dns":         "",
		"db":          `pod "db" exists in the namespaces infra, shop: use NAMESPACE/NAME`,
		"shop/web":    `pod "shop/web" not found (did you mean shop/web-7f9c?)`,
		"shop/zzzzzz": `pod "shop/zzzzzz" not found: none of the 6 known pods has a similar name`,
		"a/b/c":       `pod "a/b/c": must be NAMESPACE/NAME or NAME`,
		"shop/db#1":   "",
		"shop/db#2":   `start "#2" not found in pod shop/db: must be one of #1`,
		"shop/db#x":   `pod "shop/db": want #1 for its first start, #2 for its second, got #x`,
	} {
		_, err := s.Find(ref)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("Find(%q):\n got %v\nwant %s", ref, err, want)
		}
	}
	if _, err := session.New(session.Options{}).Find("shop/db"); !errors.As(err, new(*lookup.NotFoundError)) {
		t.Errorf("of an empty session: %v", err)
	}
}

// TestStarted: the start of a pod that later agents found running is in the first run.
func TestStarted(t *testing.T) {
	tp := tape.New()
	dns, job := trace.Pod{Namespace: "shop", Name: "dns", UID: "d"}, trace.Pod{Namespace: "shop", Name: "job", UID: "j"}
	half := trace.Pod{Namespace: "shop", Name: "half", UID: "h"}
	found := func(pod trace.Pod, at time.Duration) {
		for i, name := range []string{"seen", "started", "ready"} {
			tp.Point(at+time.Duration(i)*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneName(name), Adopted: true})
		}
	}
	live(tp, web, 0)
	live(tp, job, 0)
	tp.Point(0, half, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	tp.Point(2*sec, job, 0, &trace.Milestone{Name: trace.MilestoneGone})
	for _, at := range []time.Duration{5 * sec, 10 * sec} {
		found(web, at)
	}
	found(job, 5*sec)
	found(half, 5*sec)
	found(dns, 5*sec)
	s := fold(tp, session.Options{})
	for ref, want := range map[string]string{
		"shop/web": "shop/web#1", "shop/web#2": "shop/web#1", "shop/web#1": "shop/web#1",
		"shop/job":  "", // it was gone: the one that was found is another start
		"shop/half": "", // the end of its start was not observed
		"shop/dns":  "",
	} {
		l, err := s.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e := l.Started(); e != nil {
			got = e.Ref()
		}
		if got != want {
			t.Errorf("the start of %s is %q, want %q", ref, got, want)
		}
	}
}

func TestALifeIsBounded(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	tp.Point(400*ms, web, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	long := tp.Begin(500*ms, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "long ago"}})
	tp.Begin(500*ms, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "still"}})
	for i := range 1000 {
		at := sec + time.Duration(i)*ms
		tp.End(at, tp.Begin(at, web, 0, &trace.Sync{Why: trace.SyncAgain}), nil)
	}
	tp.End(3*sec, long, nil)
	s := fold(tp, session.Options{PerRun: 40})
	l := s.Runs()[0]
	if n := len(l.Records()); n > 60 {
		t.Errorf("%d records are kept", n)
	}
	if !l.Incomplete() {
		t.Error("it does not say that records are missing")
	}
	c := s.Case(l, time.Time{})
	if c.Waterfall == nil || c.Waterfall.Started != 300*ms || c.Waterfall.Incomplete {
		t.Errorf("the start is lost: %+v", c.Waterfall)
	}
	open := map[string]bool{}
	for _, r := range c.Records {
		if w, ok := r.Event.(*trace.Wait); ok {
			open[w.Target.Name] = r.Edge == trace.EdgeBegin
		}
	}
	if diff := cmp.Diff(map[string]bool{"long ago": false, "still": true}, open); diff != "" {
		t.Error(diff)
	}
	if c.Stage() != cause.Up {
		t.Errorf("stage %s: the last status is lost", c.Stage())
	}
}

func TestLivesAreBounded(t *testing.T) {
	tp := tape.New()
	live(tp, db, 0) // stays
	for i := range 200 {
		p := trace.Pod{Namespace: "shop", Name: fmt.Sprint("job-", i), UID: fmt.Sprint(i)}
		live(tp, p, time.Duration(i+1)*sec)
		tp.Point(time.Duration(i+1)*sec+900*ms, p, 0, &trace.Milestone{Name: trace.MilestoneGone})
	}
	s := fold(tp, session.Options{Runs: 10})
	if n := len(s.Runs()); n != 10 {
		t.Errorf("%d runs are kept", n)
	}
	if _, err := s.Find("shop/db"); err != nil {
		t.Errorf("the one that goes on was dropped: %v", err)
	}
	if _, err := s.Find("shop/job-199"); err != nil {
		t.Error(err)
	}
}

func TestACaseHasTheNodeOfItsTime(t *testing.T) {
	tp := tape.New()
	op := func(at time.Duration, path string) { tp.Point(at, trace.Pod{}, 0, &trace.CgroupOp{Path: path}) }
	tp.Begin(0, db, 0, &trace.ImagePull{Image: "large"})
	tp.Point(sec, trace.Pod{}, 0, &trace.Decision{By: trace.ByImageGC, Verdict: trace.VerdictRemove})
	op(2*sec, "before")
	live(tp, web, 10*sec)
	op(10*sec+ms, "meanwhile")
	tp.Point(10*sec+ms, trace.Pod{}, 0, &trace.Log{Message: "explains nothing"})
	tp.Point(10*sec+ms, db, 0, &trace.Log{Message: "of another"})
	op(60*sec, "later")
	s := fold(tp, session.Options{})
	l, err := s.Find("shop/web")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range s.Case(l, time.Time{}).Node {
		kinds = append(kinds, r.Event.Kind().String())
	}
	if diff := cmp.Diff([]string{"image.pull", "decision", "cgroup", "log"}, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestFiguresAreAboutEarlier: the kubelet's metrics show what took long when they are read, which may be after the pod has started.
func TestFiguresAreAboutEarlier(t *testing.T) {
	for _, c := range []struct {
		name string
		read time.Duration // how long before it could have ended
		path string
		want int
	}{
		{"during the start", 9 * sec, "", 1},
		{"after the start", sec, "", 0},
		{"the agent's own", 9 * sec, "/kubepods", 0}, // is published when it ends
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := tape.New()
			live(tp, web, 10*sec)
			tp.Point(19*sec, trace.Pod{}, 0, &trace.CgroupOp{Op: trace.CgroupUpdate, Path: c.path})
			r := &tp.Recs[len(tp.Recs)-1]
			r.Edge, r.Dur, r.Observer, r.Precision = trace.EdgeEnd, sec, trace.ObserverKubeletAPI, trace.PrecisionOf(c.read)
			s := fold(tp, session.Options{})
			l, err := s.Find("shop/web")
			if err != nil {
				t.Fatal(err)
			}
			if node := s.Case(l, time.Time{}).Node; len(node) != c.want {
				t.Errorf("%d records of the node, want %d", len(node), c.want)
			}
		})
	}
}

// TestUsageOfASlowStart: a start has the figures of its time, however long an interval is, how much later it ends, and how
// much else the node did meanwhile.
func TestUsageOfASlowStart(t *testing.T) {
	const began = 100 * sec // and ready 300 ms later
	usage := func(at, interval time.Duration) func(*tape.Tape) {
		return func(tp *tape.Tape) { tp.Point(at, trace.Pod{}, 0, &trace.Usage{Interval: interval}) }
	}
	for _, c := range []struct {
		name    string
		figures func(*tape.Tape)
		others  int // records of the node in the start
		want    int
	}{
		{"ends in the start", usage(began+100*ms, 10*sec), 0, 1},
		{"ends soon after it", usage(began+9*sec, 10*sec), 0, 1},
		{"ends long after it", usage(began+5*time.Minute, 6*time.Minute), 0, 1},
		{"begins after it", usage(began+5*time.Minute, 4*time.Minute), 0, 0},
		{"soon after it, begins after it", usage(began+9*sec, 8*sec), 0, 0},
		{"an interval below zero", usage(began+9*sec, -20*sec), 0, 0},
		{"much else", usage(began+ms, 10*sec), 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := tape.New()
			live(tp, web, began)
			c.figures(tp)
			for range c.others {
				tp.Point(began+2*ms, trace.Pod{}, 0, &trace.CgroupOp{Path: "/kubepods"})
			}
			s := fold(tp, session.Options{Node: 50})
			l, err := s.Find("shop/web")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, r := range s.Case(l, time.Time{}).Node {
				if _, ok := r.Event.(*trace.Usage); ok {
					n++
				}
			}
			if n != c.want {
				t.Errorf("%d figures, want %d", n, c.want)
			}
		})
	}
}

type body string

func (b body) MarshalJSON() ([]byte, error) { return json.Marshal(string(b)) }

func TestBodiesAreDropped(t *testing.T) {
	call := &trace.CRICall{Method: "RunPodSandbox", Request: trace.BodyOf(body("large"), 5)}
	tp := tape.New()
	tp.Point(0, web, 0, call)
	tp.Point(0, web, 0, &trace.StatusPatch{Op: trace.PatchStatus, Patch: "large", Bytes: 5})
	for _, r := range fold(tp, session.Options{}).Runs()[0].Records() {
		switch e := r.Event.(type) {
		case *trace.CRICall:
			if !e.Request.IsZero() || e.Method == "" {
				t.Errorf("%+v", e)
			}
		case *trace.StatusPatch:
			if e.Patch != "" || e.Bytes != 5 {
				t.Errorf("%+v", e)
			}
		}
	}
	if call.Request.IsZero() {
		t.Error("the reader's record was changed")
	}
}

func TestLost(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	tp.Point(sec, db, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	s := fold(tp, session.Options{})
	s.Lost(3)
	for _, l := range s.Runs() {
		w, err := l.Waterfall(time.Time{})
		if err != nil || !l.Incomplete() || w.Incomplete != (l.Pod == db) {
			t.Errorf("%s: incomplete %v, its start %+v, %v", l.Pod, l.Incomplete(), w, err)
		}
	}
}

func TestALifeThatBeganBefore(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	s := session.New(session.Options{})
	for _, r := range tp.Records()[2:] {
		s.Apply(&r)
	}
	w, err := s.Runs()[0].Waterfall(time.Time{})
	if err != nil || !w.Incomplete || !s.Runs()[0].Incomplete() {
		t.Errorf("it does not say that records are missing: %+v, %v", w, err)
	}
}

func TestTheAgentStops(t *testing.T) {
	tp := tape.New()
	live(tp, db, 0)
	tp.Point(sec, web, 0, &trace.Milestone{Name: trace.MilestoneSeen})
	wait := tp.Begin(sec, web, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}})
	tp.Point(5*sec, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStopping})
	tp.End(5*sec+ms, wait, nil)
	tp.Point(6*sec, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStopped})
	s := fold(tp, session.Options{})
	l, err := s.Find("shop/web")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Case(l, time.Time{})
	if n := len(c.Records); n != 2 || !c.Now.Equal(tape.Epoch.Add(5*sec)) {
		t.Errorf("%d records, now %v: the wait has to go on until the agent stopped", n, c.Now)
	}
	live(tp, web, 9*sec)
	s = fold(tp, session.Options{})
	if l, _ = s.Find("shop/web"); l.N != 2 || s.Case(l, time.Time{}).Stage() != cause.Up {
		t.Errorf("run %d after the agent began again", l.N)
	}
	if l, err = s.Find("shop/web#1"); err != nil || l.N != 1 {
		t.Errorf("shop/web#1 is run %d, %v", l.N, err)
	}
}

// TestAPodWithoutANameIsNoLife: records about an orphan's remains have only a UID.
func TestAPodWithoutANameIsNoLife(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	tp.Point(200*ms, trace.Pod{UID: "u-old"}, 0, &trace.Volume{Op: "teardown", Name: "cache"})
	tp.Point(200*ms, trace.Pod{UID: web.UID}, 0, &trace.Volume{Op: "teardown", Name: "cache"})
	s := fold(tp, session.Options{})
	if got := s.Runs(); len(got) != 1 || got[0].Pod != web {
		t.Fatalf("%d runs, want that of %s alone", len(got), web)
	}
	n := 0
	for _, r := range s.Case(s.Runs()[0], tape.Epoch.Add(2*sec)).Node {
		if _, ok := r.Event.(*trace.Volume); ok {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d operations are among the node's records, want 2", n)
	}
}

// The duration of a start during which the wall clock was set forward by an hour, or the machine suspended for an hour,
// does not include the step; a later start is not affected either.
func TestClockSetDuringAStart(t *testing.T) {
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	act := tp.Begin(10*ms, web, 0, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	const hour = time.Hour
	tp.Point(hour+20*ms, trace.Pod{}, 0, &trace.ClockStepped{Step: hour, Jump: hour})
	tp.End(hour+300*ms, act, nil)
	tp.Point(hour+300*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted})
	tp.Point(hour+310*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady})
	live(tp, db, hour+sec)
	s := fold(tp, session.Options{})
	want := map[string]time.Duration{"web": 310 * ms, "db": 300 * ms}
	for _, l := range s.Runs() {
		fall, err := l.Waterfall(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if fall.Ready != want[l.Pod.Name] {
			t.Errorf("%s took %s, want %s", l.Pod.Name, fall.Ready, want[l.Pod.Name])
		}
	}
}

// The runtime's spans of a call during which the wall clock was set forward are at the correct times, before and after.
func TestSpansAroundAStepOfTheClock(t *testing.T) {
	const hour = time.Hour
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	act := tp.Begin(10*ms, web, 0, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	call := tp.Begin(10*ms, web, act, &trace.CRICall{Method: "RunPodSandbox"})
	tp.Point(hour+200*ms, trace.Pod{}, 0, &trace.ClockStepped{Step: hour, Jump: hour})
	tp.End(hour+400*ms, call, nil)
	tp.End(hour+400*ms, act, nil)
	tp.Point(hour+410*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted})
	tp.Point(hour+410*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady})
	for name, at := range map[string]time.Duration{"before": 50 * ms, "after": hour + 300*ms} {
		tp.Point(hour+sec, web, call, &trace.RuntimeSpan{Name: name, Start: tape.Epoch.Add(at).UnixNano(), Dur: 80 * ms})
	}
	fall, err := fold(tp, session.Options{}).Runs()[0].Waterfall(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Duration{}
	for _, r := range fall.Rows() {
		if r.Kind == waterfall.RowSpan {
			got[r.Label] = r.Start
		}
	}
	if diff := cmp.Diff(map[string]time.Duration{"before": 50 * ms, "after": 300 * ms}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The duration of a termination during which the wall clock was set forward does not include the step; a pod that only
// runs keeps the clock's times.
func TestClockSetDuringAnEnd(t *testing.T) {
	const hour = time.Hour
	tp := tape.New()
	live(tp, web, 0)
	live(tp, db, 0)
	tp.Point(10*sec, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	tp.Point(hour+12*sec, trace.Pod{}, 0, &trace.ClockStepped{Step: hour, Jump: hour})
	tp.Point(hour+30*sec, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	tp.Point(hour+30*sec, db, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	tp.Point(hour+32*sec, db, 0, &trace.Milestone{Name: trace.MilestoneGone})
	s := fold(tp, session.Options{})
	want := map[string]time.Duration{"web": 20 * sec, "db": 2 * sec}
	for l, c := range s.Cases(time.Time{}) {
		if got := why.Explain(c).End; got != want[l.Pod.Name] {
			t.Errorf("the end of %s took %s, want %s", l.Pod.Name, got, want[l.Pod.Name])
		}
	}
}

// TestSeenWhileItEnds: if a static pod returns with the same UID while it still terminates, its next run begins when it
// is gone; the begin of that run is when it was seen.
func TestSeenWhileItEnds(t *testing.T) {
	tp := tape.New()
	live(tp, web, 0)
	tp.Point(2*sec, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	tp.Point(3*sec, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	tp.Point(4*sec, web, 0, &trace.Log{Message: "it ends"})
	tp.Point(5*sec, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	tp.Point(6*sec, web, 0, &trace.Milestone{Name: trace.MilestoneStarted})
	tp.Point(6*sec, web, 0, &trace.Milestone{Name: trace.MilestoneReady})
	s := fold(tp, session.Options{})
	want := [][]string{{"seen", "started", "ready", "terminating", "it ends", "gone"}, {"seen", "started", "ready"}}
	if len(s.Runs()) != 2 {
		t.Fatalf("%d runs, want 2", len(s.Runs()))
	}
	for i, l := range s.Runs() {
		if diff := cmp.Diff(want[i], names(l.Records())); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i+1, diff)
		}
	}
	if w, err := s.Runs()[1].Waterfall(time.Time{}); err != nil || w.Ready != 3*sec {
		t.Errorf("the second start: %+v, %v", w, err)
	}
}

// TestSeenByTheNextAgent: a pod that was terminating when the agent stopped is seen again by the next agent, whose
// records decide.
func TestSeenByTheNextAgent(t *testing.T) {
	tp := tape.New()
	tp.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStarting})
	live(tp, web, 0)
	tp.Point(2*sec, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	tp.Point(3*sec, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStopping})
	tp.Point(4*sec, trace.Pod{}, 0, &trace.Agent{State: trace.AgentStarting})
	tp.Point(5*sec, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Adopted: true})
	tp.Point(6*sec, web, 0, &trace.Milestone{Name: trace.MilestoneGone})
	s := fold(tp, session.Options{})
	if n := len(s.Runs()); n != 2 {
		t.Fatalf("%d runs, want 2", n)
	}
	if diff := cmp.Diff([]string{"seen", "gone"}, names(s.Runs()[1].Records())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
