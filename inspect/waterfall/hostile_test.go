package waterfall

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestHostileRecords builds starts from records that no agent writes. Anybody may have made the recording.
func TestHostileRecords(t *testing.T) {
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	action := func(i int) *trace.Action { return &trace.Action{ID: fmt.Sprint("create ", i), Verb: trace.VerbCreate} }
	for _, tc := range []struct {
		name  string
		write func(tp *tape.Tape)
	}{
		{"spans in a circle", func(tp *tape.Tape) {
			for i := range 100 { // each is part of the next, and the last part of the first
				tp.Begin(0, pod, trace.SpanID((i+1)%100+1), action(i))
			}
		}},
		{"spans in each other", func(tp *tape.Tape) {
			for i := range 8000 {
				tp.Begin(0, pod, trace.SpanID(i), action(i))
			}
		}},
		{"waits of an action", func(tp *tape.Tape) {
			a := tp.Begin(0, pod, 0, action(0))
			for i := range 8000 {
				at := time.Duration(i) * time.Millisecond
				tp.End(at+time.Microsecond, tp.Begin(at, pod, a, &trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetOther, Name: fmt.Sprint(i)}}), nil)
			}
			tp.End(8*time.Second, a, nil)
		}},
		{"many actions of a sync", func(tp *tape.Tape) {
			s := tp.Begin(0, pod, 0, &trace.Sync{})
			var steps []trace.PlanStep
			for i := range 8000 {
				at := time.Duration(i) * time.Millisecond
				tp.End(at+time.Millisecond, tp.Begin(at, pod, s, action(i)), nil)
				steps = append(steps, trace.PlanStep{ID: fmt.Sprint("create ", i), Needs: []string{fmt.Sprint("create ", i-1), fmt.Sprint("create ", i/2)}})
			}
			tp.Point(0, pod, s, &trace.Plan{Steps: steps})
		}},
		{"plugins and networks", func(tp *tape.Tape) {
			call := tp.Begin(0, pod, tp.Begin(0, pod, 0, action(0)), &trace.CRICall{Method: "RunPodSandbox"})
			for range 5000 {
				tp.Point(0, pod, call, &trace.RuntimeSpan{Name: "cni.plugin.bridge", Start: tape.Epoch.UnixNano(), Dur: time.Second})
				tp.Point(0, pod, call, &trace.RuntimeSpan{Name: "cni.asynchAttach", Start: tape.Epoch.UnixNano() + 1, Dur: 1})
			}
			tp.End(2*time.Second, call, nil)
		}},
		{"centuries", func(tp *tape.Tape) {
			tp.Point(-56*365*24*time.Hour, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
			tp.Begin(0, pod, 0, action(0))
			tp.Point(173*365*24*time.Hour, pod, 0, &trace.RuntimeSpan{Start: -1 << 63, Dur: 1<<63 - 1})
			tp.Point(173*365*24*time.Hour, pod, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 1<<63 - 1})
		}},
		{"before it was seen", func(tp *tape.Tape) {
			tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen})
			tp.Point(-time.Hour, pod, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tp := tape.New()
			tc.write(tp)
			w, err := Build(tp.Recs, pod)
			if err != nil {
				t.Fatal(err)
			}
			if w.End < 0 || len(w.Path) > maxSteps+2*8000 {
				t.Errorf("it ends after %s, %d segments", w.End, len(w.Path))
			}
			_ = w.Why() + w.Cause()
			for _, width := range []int{0, 40, 80, 1000} {
				l := w.Layout(width, 0)
				if len(l.Ticks) > l.Bars+1 {
					t.Errorf("%d ticks on %d columns", len(l.Ticks), l.Bars)
				}
				for _, line := range l.Lines {
					if line.Bar < 0 || line.Cols < 0 || line.Bar+line.Cols > l.Bars+1 {
						t.Fatalf("bar %d+%d of %d columns", line.Bar, line.Cols, l.Bars)
					}
				}
			}
		})
	}
}
