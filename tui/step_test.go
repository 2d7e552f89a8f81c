package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// stepEnd is a session whose stops a test gives.
type stepEnd struct {
	stops chan step.Stop
	asked []string
	idle  bool // after one command, nothing waits
}

func (s *stepEnd) Stops() <-chan step.Stop { return s.stops }

func (s *stepEnd) Do(_ context.Context, line string) (string, error) {
	s.asked = append(s.asked, line)
	if s.idle && len(s.asked) > 1 {
		return "", step.ErrNothingWaits
	}
	switch name, _ := step.Split(line); name {
	case "fail":
		return "", errors.New(`"x" is no gRPC code`)
	case "where":
		return "pod       shop/cart-7d4f-x2z\nat        before  create cart   6 of 7", nil
	case "inspect":
		return "dir /pods/9f/", nil
	}
	return "", nil
}

var cart = trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z", UID: "9f"}

func stopAt(when gate.When) step.Stop {
	s := step.Stop{
		Pod: cart, Index: 3, Total: 5, Next: "image redis:7.2", When: when, Attempt: 1, RequestTitle: "runtime.v1.ImageStatusRequest, then PullImage if needed",
		Request: "{\n  \"image\": {\n    \"image\": \"redis:7.2\"\n  }\n}", Changed: []string{"+ sandbox 9c53f64145f9 attempt 0 ready 10.90.0.5", "~ cgroup memory.max: max → 134217728"},
		Actions: []step.Action{
			{ID: "cgroup", State: step.Done, Dur: ms},
			{ID: "sandbox", State: step.Done, Dur: 312 * ms},
			{ID: "image redis:7.2", State: step.Next},
			{ID: "create cart", State: step.Todo},
			{ID: "start cart", State: step.Todo},
		},
	}
	switch when {
	case gate.Call:
		s.Call, s.RequestTitle = "PullImage", "runtime.v1.PullImageRequest"
	case gate.After:
		s.Took, s.Err, s.Hit = 2100*ms, "rpc error: code = Unavailable desc = failed to resolve reference: no route to host", "on error"
		s.Actions[2].State, s.Actions[2].Err = step.Failed, s.Err
	case gate.Before:
	}
	return s
}

const ms = time.Millisecond

func TestGoldenStep(t *testing.T) {
	for name, stop := range map[string]step.Stop{
		"step-before": stopAt(gate.Before), "step-call": stopAt(gate.Call), "step-after": stopAt(gate.After),
		"step-attached": {Pod: trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z"}, Attached: true},
		"step-attached-started": {
			Pod: cart, Attached: true, Total: 5, Actions: stopAt(gate.Before).Actions, Passed: []step.Milestone{{Name: trace.MilestoneSeen}, {Name: trace.MilestoneStarted, Since: 1200 * ms}},
		},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			full := fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
			bubble(t, full, func(t *testing.T) {
				end := &stepEnd{stops: make(chan step.Stop, 1)}
				d := drive(t, Config{Stepper: end}, size[0], size[1])
				end.stops <- stop
				d.run(d.app.step.Listen(t.Context()))
				golden(t, full, d.screen())
				within(t, d.screen(), size[0], size[1])
			})
		}
	}
}

// Keys and typed lines are the line mode's commands.
func TestStepKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := &stepEnd{stops: make(chan step.Stop, 1)}
		d := drive(t, Config{Stepper: end}, 120, 40)
		end.stops <- stopAt(gate.Before)
		d.run(d.app.step.Listen(t.Context()))
		d.keys("f").want("fail with code")
		d.keys("x enter").want(`fail x: "x" is no gRPC code`, "paused before")
		d.keys("i").want("dir /pods/9f/")
		d.keys("esc :").keys("w h e r e enter").want("before  create cart   6 of 7")
		d.keys("esc d 2 s enter").want("running  image redis:7.2")
		end.stops <- stopAt(gate.After)
		d.settle()
		d.want("paused after  image redis:7.2", "failed after 2.10s", "r retries it")
		d.keys("r s c").want("running  image redis:7.2; then s, c") // typed ahead
		end.stops <- stopAt(gate.Before)
		d.settle()
		end.stops <- stopAt(gate.Before)
		d.settle()
		d.keys("?").want("retry the failed action", "a shell on the node")
		if want := []string{"fail x", "i", "where", "delay 2s", "retry", "s", "c"}; !slices.Equal(end.asked, want) {
			t.Errorf("asked %q, want %q", end.asked, want)
		}
	})
}

// TestStepAhead: what is typed ahead is dropped after an error and by q, and bounded.
func TestStepAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := &stepEnd{stops: make(chan step.Stop, 1)}
		d := drive(t, Config{Stepper: end}, 120, 40)
		stop := func() {
			end.stops <- stopAt(gate.Before)
			d.settle()
		}
		stop()
		d.run(d.app.step.Listen(t.Context()))
		d.keys("n : f a i l space x enter n").want("then fail x, n")
		stop()
		d.want(`fail x: "x" is no gRPC code`, "paused before")
		for range 40 {
			d.keys("n")
		}
		d.want("32 commands wait")
		end.stops <- stopAt(gate.After) // it failed
		d.settle()
		d.want("dropped, because it was typed ahead: n, n")
		d.keys("n i").want("dir /pods/9f/") // nothing waits before it
		d.keys("esc n i s p").want("then n, i, s, p")
		stop()
		d.keys("esc").want("then i, s, p")
		stop()
		d.want("dir /pods/9f/")
		d.keys("esc").want("then p")
		d.keys("q").want("dropped, because it was typed ahead: p")
		d.keys("n")
		stop()
		if want := []string{"n", "fail x", "n", "n", "i", "n", "i", "s", "q"}; !slices.Equal(end.asked, want) {
			t.Errorf("asked %q, want %q", end.asked, want)
		}
	})
}

// TestStepAheadOver: what was typed ahead of the last action meets a pod of which nothing waits, once.
func TestStepAheadOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := &stepEnd{stops: make(chan step.Stop, 1), idle: true}
		d := drive(t, Config{Stepper: end}, 120, 40)
		end.stops <- stopAt(gate.Before)
		d.run(d.app.step.Listen(t.Context()))
		d.keys("n s c p").want("then s, c, p")
		stop := stopAt(gate.Before)
		stop.Next, stop.Passed = "", []step.Milestone{{Name: trace.MilestoneStarted}}
		end.stops <- stop
		d.settle()
		d.want("then s, c, p") // a hook is left
		for i := range stop.Actions {
			stop.Actions[i].State = step.Done
		}
		end.stops <- stop
		d.settle()
		d.want("s: no action waits", "dropped, because it was typed ahead: c, p")
		if want := []string{"n", "s"}; !slices.Equal(end.asked, want) {
			t.Errorf("asked %q, want %q", end.asked, want)
		}
	})
}

// TestStepReplanned: when the pod is planned again while an action runs, the plan on the screen is the new one, without what the old one had.
func TestStepReplanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := &stepEnd{stops: make(chan step.Stop, 1)}
		d := drive(t, Config{Stepper: end}, 120, 40)
		d.app.refresh()
		end.stops <- stopAt(gate.Before)
		d.run(d.app.step.Listen(t.Context()))
		d.keys("n").want("create cart", "start cart")
		d.now = d.now.Add(time.Second)
		at := d.now.UnixNano()
		d.app.apply([]chunk{{recs: []trace.Record{
			{Seq: 1, Time: at, Pod: cart, Event: &trace.Milestone{Name: trace.MilestoneSeen}},
			{Seq: 2, Time: at, Pod: cart, Event: &trace.Plan{Steps: []trace.PlanStep{{ID: "kill sandbox", Verb: trace.VerbStopSandbox}, {ID: "sandbox", Verb: trace.VerbSandbox}}}},
		}}})
		d.app.move()
		d.want("kill sandbox")
		d.wantNot("start cart", "create cart")
		end.stops <- stopAt(gate.Before)
		d.settle()
		d.want("paused before", "start cart")
		d.wantNot("kill sandbox")
	})
}

// Of a pod of a running agent, q leaves and there is no shell.
func TestStepAttached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := &stepEnd{stops: make(chan step.Stop, 1)}
		d := drive(t, Config{Stepper: end}, 120, 40)
		stop := stopAt(gate.Before)
		stop.Attached = true
		end.stops <- stop
		d.run(d.app.step.Listen(t.Context()))
		d.keys("!").want("shell: only in a session on the agent's own terminal")
		d.keys("?").want("quit; the pod continues")
		if strings.Contains(d.screen(), "delete the pod") {
			t.Error("help says that q deletes the pod")
		}
	})
}

// Of a session with --creation or --deletion, the view says which actions are paused, as the line mode does.
func TestStepOnly(t *testing.T) {
	for only, words := range map[step.Only][3]string{
		"":            {"waits for its next creation or deletion", "The next action of the agent for this pod", "what the agent does next to this pod stops here"},
		step.Creation: {"waits for its next creation", "The next action that creates something of this pod", "the pod's next creation stops here"},
		step.Deletion: {"waits for its next deletion", "The pod's deletion is paused here", "the pod's next deletion stops here"},
	} {
		synctest.Test(t, func(t *testing.T) {
			end := &stepEnd{stops: make(chan step.Stop, 1)}
			d := drive(t, Config{Stepper: end}, 120, 40)
			waits := step.Stop{Pod: cart, Attached: true, Only: only}
			if text := waits.Text(); !strings.HasSuffix(text, words[0]) {
				t.Errorf("the line mode says %q, want %q", text, words[0])
			}
			end.stops <- waits
			d.run(d.app.step.Listen(t.Context()))
			d.want(words[0]+" ", words[2])
			at := d.now.UnixNano()
			d.app.apply([]chunk{{recs: []trace.Record{
				{Seq: 1, Time: at, Pod: cart, Event: &trace.Milestone{Name: trace.MilestoneSeen}},
				{Seq: 2, Time: at, Pod: cart, Event: &trace.Milestone{Name: trace.MilestoneStarted, Since: 1200 * ms}},
			}}})
			waits.Passed, waits.Total, waits.Actions = []step.Milestone{{Name: trace.MilestoneStarted, Since: 1200 * ms}}, 1, []step.Action{{ID: "start cart", State: step.Done}}
			end.stops <- waits
			d.settle()
			d.app.refresh()
			d.want("All containers run", words[1])
			if text := waits.Text(); !strings.HasSuffix(text, "started after 1.20s") && !strings.HasSuffix(text, "started after 1.2s") {
				t.Errorf("the line mode says %q", text)
			}
		})
	}
}
