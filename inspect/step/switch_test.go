package step

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

var byName = trace.Pod{Namespace: "default", Name: "web"}

func TestSwitchHoldsWhatSessionsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewSwitch(Config{Snapshot: &node{}, Bus: tracetest.New(t).Bus()})
		if w.Holds(web) {
			t.Error("held without a session")
		}
		if _, err := w.Attach(Config{Pod: trace.Pod{Name: "web"}}); err == nil {
			t.Error("a pod without a namespace was taken")
		}
		if _, err := w.Attach(Config{Pod: byName, Only: "both"}); err == nil {
			t.Error("a nonsense part of a life was taken")
		}
		s, err := w.Attach(Config{Pod: byName, Attached: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Attach(Config{Pod: byName}); err == nil || !strings.Contains(err.Error(), "default/web is being stepped by another session") {
			t.Errorf("a second session: %v", err)
		}
		two, err := w.Attach(Config{Pod: other})
		if err != nil {
			t.Fatal(err)
		}
		if !w.Holds(web) || !w.Holds(other) || w.Holds(trace.Pod{Namespace: "x", Name: "web"}) {
			t.Error("other pods than those that are named are held")
		}
		two.Close()
		if stop := <-s.Stops(); stop.Waits() || !stop.Attached || stop.Pod != byName {
			t.Errorf("the first stop is %+v", stop)
		}
		done := make(chan error, 1)
		go func() { _, err := w.Ask(t.Context(), question(plan, "cgroup", gate.Before)); done <- err }()
		if stop := <-s.Stops(); stop.Place() != "before  cgroup" || stop.Pod != web {
			t.Errorf("stopped %+v", stop)
		}
		if _, err := s.Do(t.Context(), "q"); err != nil { // quits: the pod continues
			t.Error(err)
		}
		if err := <-done; err != nil || s.Quitting() || w.Holds(web) || w.Holds(other) {
			t.Errorf("after a quit: %v, quitting %v, holds %v", err, s.Quitting(), w.Holds(web))
		}
		if _, err := w.Ask(t.Context(), question(plan, "cgroup", gate.Before)); err != nil {
			t.Error(err)
		}
		if s, err = w.Attach(Config{Pod: byName}); err != nil {
			t.Errorf("a session after the first has ended: %v", err)
		}
		s.Close()
		s.Close()
	})
}

// Records of the pod on the bus are news; those of others are not.
func TestSwitchTellsNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := tracetest.New(t).Bus()
		w := NewSwitch(Config{Bus: bus})
		s, err := w.Attach(Config{Pod: byName})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		of := func(p trace.Pod) trace.Span { return trace.ForPod(trace.Span{}, p) }
		trace.Point(bus, of(web), trace.Milestone{Name: trace.MilestoneSeen})
		span := trace.Begin(bus, of(web), trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1})
		trace.End(bus, span, trace.Sync{Why: trace.SyncCreate, Cause: "ADD", N: 1, Err: "no network"})
		trace.Point(bus, of(other), trace.Milestone{Name: trace.MilestoneReady})
		synctest.Wait()
		if stop := <-s.Stops(); stop.News() != "no network" || stop.Pod != web {
			t.Errorf("news %+v", stop)
		}
		out, err := s.Do(t.Context(), "where")
		if err != nil || !strings.Contains(out, "pass      1, create ADD\npassed    seen") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// For an attached person, c ends at the end of the pod's creation.
func TestPartsOfALife(t *testing.T) {
	for _, tc := range []struct {
		attached bool
		until    string
		pass     string
		want     pace
	}{
		{true, "", "started", toAction},
		{true, "", "terminating", toAction},
		{true, "", "gone", toAction},
		{true, "", "ready", toBreak},
		{true, "gone", "terminating", toBreak},
		{true, "gone", "gone", toAction},
		{false, "", "started", toBreak},
		{false, "ready", "ready", toAction},
	} {
		s, err := New(Config{Pod: web, Attached: tc.attached})
		if err != nil {
			t.Fatal(err)
		}
		s.pace, s.until = toBreak, trace.MilestoneName(tc.until)
		s.note(&trace.Record{Pod: web, Event: &trace.Milestone{Name: trace.MilestoneName(tc.pass)}})
		if s.pace != tc.want {
			t.Errorf("%+v: pace %d", tc, s.pace)
		}
	}
}

func TestOnlyAPartOfALife(t *testing.T) {
	for only, want := range map[Only]bool{Creation: false, Deletion: true} {
		s, err := New(Config{Pod: web, Only: only})
		if err != nil {
			t.Fatal(err)
		}
		for _, ending := range []bool{false, true} {
			q := question(plan, "cgroup", gate.Before)
			if q.Ending = ending; s.wants(q) != (ending == want) {
				t.Errorf("only %s: ending %v: %v", only, ending, s.wants(q))
			}
			if stop := s.describe(q); stop.Only != only {
				t.Errorf("only %s: a paused stop says %q", only, stop.Only)
			}
		}
	}
}

// A stop is unchanged after it was sent over a socket.
func TestStopIsJSON(t *testing.T) {
	want := Stop{
		Pod: web, Index: 1, Total: 2, Next: "create main", When: gate.Call, Call: "CreateContainer", Attempt: 2, Ending: true, RequestTitle: "t", Request: "r",
		Actions: []Action{{ID: "create main", Verb: trace.VerbCreate, State: Failed, Dur: 3, Err: "e"}}, Err: "e", Took: 4, Changed: []string{"+ a"}, Hit: "h",
		Passed: []Milestone{{Name: trace.MilestoneSeen, Since: 5}}, Sandbox: "s", Netns: "n", Attached: true,
	}
	p, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Stop
	if err := json.Unmarshal(p, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSwitchHoldsNothing(b *testing.B) {
	w := NewSwitch(Config{})
	for b.Loop() {
		if w.Holds(web) {
			b.Fatal("held")
		}
	}
}
