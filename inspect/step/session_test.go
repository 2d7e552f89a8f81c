package step

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestNewWantsAPod(t *testing.T) {
	for _, pod := range []trace.Pod{{}, {Name: "web"}, {Namespace: "default", UID: "u1"}} {
		if _, err := New(Config{Pod: pod}); err == nil {
			t.Errorf("%+v: no error", pod)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, tc := range []struct {
		name      string
		held, pod trace.Pod
		want      bool
	}{
		{"itself", web, web, true},
		{"another", web, other, false},
		{"the same name, another UID", web, trace.Pod{Namespace: "default", Name: "web", UID: "u9"}, false},
		{"by name", trace.Pod{Namespace: "default", Name: "web"}, web, true},
		{"by name in another namespace", trace.Pod{Namespace: "x", Name: "web"}, web, false},
		{"another by name", trace.Pod{Namespace: "default", Name: "web"}, other, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := setup(t, tc.held)
			if got := f.Holds(tc.pod); got != tc.want {
				t.Errorf("holds: %v", got)
			}
			f.Close()
			if f.Holds(tc.pod) {
				t.Error("holds when open")
			}
		})
	}
}

func TestStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.fail["sandbox"] = errors.New("no network")
		f.run(plan)
		f.do("n")
		f.do("n")
		if stop := f.at("sandbox"); stop.When != gate.After || stop.Err != "no network" {
			t.Errorf("after a failure: %+v", stop)
		}
		f.do("n")
		want := Stop{
			Pod: web, Index: 3, Total: 5, Next: "image docker.io/lab/web:1", When: gate.Before, Attempt: 1, Sandbox: "sb1",
			RequestTitle: "runtime.v1.ImageStatusRequest, then PullImage if needed",
			Request:      "{\n  \"id\": \"image docker.io/lab/web:1\"\n}",
			Actions: []Action{
				{ID: "cgroup", Verb: trace.VerbCgroup, State: Done},
				{ID: "sandbox", Verb: trace.VerbSandbox, State: Failed, Err: "no network"},
				{ID: "image docker.io/lab/web:1", Verb: trace.VerbImage, State: Next},
				{ID: "create main", Verb: trace.VerbCreate, State: Todo},
				{ID: "start main", Verb: trace.VerbStart, State: Todo},
			},
		}
		if diff := cmp.Diff(want, <-f.Stops()); diff != "" { // nobody received the first two: the newest is delivered
			t.Error(diff)
		}
		wantPlan := "✓ cgroup                     0ms\n✗ sandbox                    no network\n▶ image docker.io/lab/web:1\n· create main\n· start main"
		if diff := cmp.Diff(wantPlan, f.do("p plan")); diff != "" {
			t.Error(diff)
		}
		f.do("c")
		if n := len(f.Stops()); n != 0 {
			t.Errorf("%d stops while going on", n)
		}
	})
}

// A new plan begins again, whether it is another or the same.
func TestNextPlan(t *testing.T) {
	for _, tc := range []struct {
		name   string
		second trace.Plan
	}{
		{"the same", plan},
		{"a part", trace.Plan{Steps: plan.Steps[3:]}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				f.fail["start main"] = errors.New("exec format error")
				f.run(plan)
				f.do("c")
				if !f.over {
					t.Fatal("not over")
				}
				f.do("b *")
				f.run(tc.second)
				defer f.Close()
				stop := f.at(tc.second.Steps[0].ID)
				for _, a := range stop.Actions[1:] {
					if a.State != Todo || a.Err != "" {
						t.Errorf("%s is %s %q", a.ID, a.State, a.Err)
					}
				}
			})
		})
	}
}

func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request json.Marshaler
		want    string
	}{
		{"none", nil, "start main makes no request"},
		{"cannot", broken{}, "runtime.v1.StartContainerRequest\ncannot be shown: broken"},
		{"no JSON", json.RawMessage("{"), "runtime.v1.StartContainerRequest\n{"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				go func() {
					q := question(plan, "start main", gate.Before)
					q.Request = tc.request
					_, f.err = f.Ask(f.ctx, q)
				}()
				f.at("start main")
				if diff := cmp.Diff(tc.want, f.do("p")); diff != "" {
					t.Error(diff)
				}
				f.Close()
			})
		})
	}
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }

func TestChangesAreSinceTheLastStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.node.set(false, "a", "b")
		f.run(plan)
		check := func(want ...string) {
			t.Helper()
			stop, _ := f.Waiting()
			if diff := cmp.Diff(want, stop.Changed); diff != "" {
				t.Error(diff)
			}
		}
		check("+ a", "+ b")
		f.node.set(false, "b", "c")
		f.do("b create")
		f.do("c") // past sandbox and image, which stop nobody
		f.at("create main")
		check("- a", "+ c")
		if got := f.do("p changed"); got != "- a\n+ c" {
			t.Errorf("p changed: %q", got)
		}
		f.do("n")
		check()
		f.Close()
	})
}

// A snapshot that hangs delays a stop a little, and does not count as the node's state.
func TestSnapshotHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.node.set(false, "a")
		f.run(plan)
		f.node.set(true)
		f.do("n")
		f.at("")
		time.Sleep(lookFor) // simulated time
		stop := f.at("sandbox")
		if diff := cmp.Diff([]string{"unknown: the node could not be inspected within 5s"}, stop.Changed); diff != "" {
			t.Error(diff)
		}
		f.node.set(false, "a", "b")
		f.do("n")
		if diff := cmp.Diff([]string{"+ b"}, f.at("image docker.io/lab/web:1").Changed); diff != "" {
			t.Error(diff)
		}
		f.Close()
	})
}

// If the person leaves while a snapshot hangs, nothing waits for it, and no stop is delivered.
func TestLeaveWhileSnapshotHangs(t *testing.T) {
	for _, tc := range []struct {
		name    string
		leave   func(*fixture)
		want    error
		verdict []trace.Gate
	}{
		{"close", func(f *fixture) { f.Close() }, nil, []trace.Gate{{Action: "cgroup", Verdict: trace.GateOpen}}},
		{"quit", func(f *fixture) { f.Quit() }, ErrQuit, []trace.Gate{{Action: "cgroup", Verdict: trace.GateSkipRest}}},
		{"cancel", func(f *fixture) { f.stop() }, context.Canceled, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				f.node.set(true)
				begun := time.Now()
				f.run(plan)
				f.at("")
				tc.leave(f)
				synctest.Wait()
				if !f.over || !errors.Is(f.err, tc.want) || len(f.Stops()) != 0 || time.Since(begun) != 0 {
					t.Errorf("over %v, error %v, %d stops, after %s", f.over, f.err, len(f.Stops()), time.Since(begun))
				}
				if diff := cmp.Diff(tc.verdict, f.verdicts()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A person's answer is published.
func TestVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.fail["sandbox"] = errors.New("no network")
		f.run(plan)
		for _, line := range []string{"n", "delay 2s", "retry", "n", "fail NotFound"} {
			f.do(line)
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		want := []trace.Gate{
			{Action: "cgroup", Verdict: trace.GateGo},
			{Action: "sandbox", Verdict: trace.GateDelay, Delay: 2 * time.Second},
			{Action: "sandbox", When: gate.After, Verdict: trace.GateRetry},
			{Action: "sandbox", When: gate.After, Verdict: trace.GateGo},
			{Action: "image docker.io/lab/web:1", Verdict: trace.GateFail, Code: "NotFound"},
		}
		if diff := cmp.Diff(want, f.verdicts()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		f.Close()
	})
}

func TestCloseOpensForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.run(plan)
		f.do("b create")
		f.do("n")
		f.Close()
		f.Close()
		synctest.Wait()
		if !f.over || f.err != nil || len(f.done) != len(plan.Steps) {
			t.Fatalf("over %v, error %v, done %v", f.over, f.err, f.done)
		}
		if diff := cmp.Diff([]trace.Gate{{Action: "cgroup", Verdict: trace.GateGo}, {Action: "sandbox", Verdict: trace.GateOpen}}, f.verdicts()); diff != "" {
			t.Error(diff)
		}
		f.run(plan)
		if !f.over || f.err != nil || f.Holds(web) {
			t.Errorf("a later plan: over %v, error %v, holds %v", f.over, f.err, f.Holds(web))
		}
		if _, err := f.Do(t.Context(), "n"); !errors.Is(err, ErrNothingWaits) {
			t.Error(err)
		}
	})
}

func TestCloseBeforeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.Close()
		f.run(plan)
		if !f.over || f.err != nil || len(f.verdicts()) != 0 {
			t.Errorf("over %v, error %v, verdicts %v", f.over, f.err, f.verdicts())
		}
	})
}

func TestQuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.run(plan)
		f.do("n")
		f.do("q")
		if !f.Quitting() || !f.over || !errors.Is(f.err, ErrQuit) {
			t.Fatalf("quitting %v, over %v, error %v", f.Quitting(), f.over, f.err)
		}
		if f.Holds(web) {
			t.Error("the deletion is held")
		}
		f.Close()
		f.run(plan) // run by a runner that asked Holds before
		if !errors.Is(f.err, ErrQuit) {
			t.Errorf("after Close: %v", f.err)
		}
		if diff := cmp.Diff([]string{"cgroup"}, f.done); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]trace.Gate{{Action: "cgroup", Verdict: trace.GateGo}, {Action: "sandbox", Verdict: trace.GateSkipRest}}, f.verdicts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.run(plan)
		f.at("cgroup")
		f.stop()
		synctest.Wait()
		if !f.over || !errors.Is(f.err, context.Canceled) || len(f.verdicts()) != 0 {
			t.Fatalf("over %v, error %v, verdicts %v", f.over, f.err, f.verdicts())
		}
		f.at("")
		if _, err := f.Do(t.Context(), "n"); !errors.Is(err, ErrNothingWaits) {
			t.Error(err)
		}
		f.ctx = t.Context()
		f.run(plan) // the session continues with the next plan
		f.at("cgroup")
		f.do("n")
		f.at("sandbox")
		f.Close()
	})
}

func TestAnotherPodIsNeverHeld(t *testing.T) {
	f := setup(t, web)
	q := question(plan, "cgroup", gate.After)
	q.Pod, q.Err = other, errors.New("not ours")
	if _, err := f.Ask(t.Context(), q); err != nil {
		t.Error(err)
	}
	if len(f.ended) != 0 || len(f.Stops()) != 0 {
		t.Errorf("ended %v, %d stops", f.ended, len(f.Stops()))
	}
	f.Quit()
	if _, err := f.Ask(t.Context(), q); err != nil {
		t.Errorf("after a quit: %v", err)
	}
}

func TestVerdictIsOfThePodAndItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, trace.Pod{Namespace: web.Namespace, Name: web.Name}) // held by name
		cause := trace.Point(f.rec.Bus(), trace.Span{}, trace.Milestone{Name: trace.MilestoneSeen})
		f.ctx = trace.ContextWith(f.ctx, cause)
		f.run(plan)
		f.Close()
		synctest.Wait()
		recs := f.rec.OfKind("pod.gate")
		if len(recs) != 1 || recs[0].Pod != web || recs[0].Parent != cause.ID {
			t.Errorf("%+v", recs)
		}
	})
}

// Two actions at once are paused one after the other, and none is lost.
func TestTwoAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(*fixture)
		want  error
	}{
		{"close", func(f *fixture) { f.Close() }, nil},
		{"quit", func(f *fixture) { f.Quit() }, ErrQuit},
		{"cancel", func(f *fixture) { f.stop() }, context.Canceled},
		{"n n", func(f *fixture) { f.do("n"); f.do("n") }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				errs := make(chan error, 2)
				for _, id := range []string{"cgroup", "sandbox"} {
					go func() { _, err := f.Ask(f.ctx, question(plan, id, gate.Before)); errs <- err }()
				}
				synctest.Wait()
				tc.leave(f)
				for range 2 {
					if err := <-errs; !errors.Is(err, tc.want) {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Nobody receives the stops, and many goroutines send commands: every runner ends.
func TestConcurrently(t *testing.T) {
	rec := tracetest.New(t)
	s, err := New(Config{Pod: web, Snapshot: &node{lines: []string{"a"}}, Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	var runners, talkers sync.WaitGroup
	for range 4 {
		runners.Go(func() {
			for range 20 {
				for _, st := range plan.Steps {
					if _, err := s.Ask(t.Context(), question(plan, st.ID, gate.Before)); err == nil {
						_, _ = s.Ask(t.Context(), question(plan, st.ID, gate.After)) // stops nobody
					}
				}
			}
		})
	}
	for range 4 {
		talkers.Go(func() {
			for range 50 {
				for _, line := range []string{"n", "b create", "c", "s", "fail Aborted", "delay 1us", "where", "until gone", "p plan", "p changed", "b", "b -create", ""} {
					_, _ = s.Do(t.Context(), line) // most find no paused action
				}
				s.Holds(web)
			}
		})
	}
	talkers.Wait()
	s.Close()
	runners.Wait()
	if _, waits := s.Waiting(); waits {
		t.Error("an action waits at an open gate")
	}
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct {
		name           string
		old, now, want []string
	}{
		{"nothing", nil, nil, nil},
		{"the same in another order", []string{"a", "b"}, []string{"b", "a"}, nil},
		{"came and went", []string{"a", "b"}, []string{"b", "d", "c"}, []string{"- a", "+ d", "+ c"}},
		{"all went", []string{"a"}, nil, []string{"- a"}},
		{"a value", []string{"a", "m = 1", "n = 2"}, []string{"m = 5", "n = 2", "o = 1"}, []string{"- a", "~ m: 1 → 5", "+ o = 1"}},
		{"a value that is there once more", []string{"m = 1"}, []string{"m = 1", "m = 2"}, []string{"~ m: 1 → 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Diff(tc.old, tc.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
