package why_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestPressureOfASlowStart: live, as in a recording, why names the want of processors that a start of 50 s had, whatever
// the intervals of the node's figures are, while it lasts and long after it.
func TestPressureOfASlowStart(t *testing.T) {
	const s = time.Second
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "u-web"}
	// hogs are figures of a node with more work than processors.
	hogs := func(tp *tape.Tape, at, interval time.Duration) {
		tp.Point(at, trace.Pod{}, 0, &trace.Usage{
			Interval: interval, CPUs: 2, Busy: 2 * interval * 97 / 100, Stalls: []trace.Stall{{Resource: trace.ResourceCPU, Some: interval * 9 / 10}},
		})
	}
	idle := func(tp *tape.Tape, at time.Duration) {
		tp.Point(at, trace.Pod{}, 0, &trace.Usage{Interval: 10 * s, CPUs: 2, Busy: s, Stalls: []trace.Stall{{Resource: trace.ResourceCPU}}})
	}
	every := func(interval time.Duration) func(*tape.Tape, time.Duration) {
		return func(tp *tape.Tape, until time.Duration) {
			for at := 20*s + interval; at <= until; at += interval {
				hogs(tp, at, interval)
			}
		}
	}
	slow := tape.Start{Pod: pod, At: 24 * s, Image: "web:1", Sandbox: 45 * s, Create: 2 * s, Run: 3 * s} // ready at 74 s
	for _, c := range []struct {
		name    string
		figures func(tp *tape.Tape, until time.Duration)
		open    bool
		after   time.Duration // idle
		want    bool
	}{
		{"every second", every(s), false, 0, true},
		{"every ten seconds", every(10 * s), false, 0, true},
		{"every ten seconds, while it starts", every(10 * s), true, 0, true},
		{"every ten seconds, an hour later", every(10 * s), false, time.Hour, true},
		{"one interval, which ends long after the start", func(tp *tape.Tape, _ time.Duration) { hogs(tp, 130*s, 100*s) }, false, time.Hour, true},
		{"not: an interval after the start", func(tp *tape.Tape, _ time.Duration) { hogs(tp, 130*s, 56*s) }, false, 0, false},
		{"not: an idle node", func(*tape.Tape, time.Duration) {}, false, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := tape.New()
			for at := time.Duration(0); at <= 20*s; at += 10 * s {
				idle(tp, at)
			}
			last := 80 * s
			if c.open {
				last = 60 * s
				tp.Point(slow.At, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
				sync := tp.Begin(slow.At, pod, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
				act := tp.Begin(slow.At, pod, sync, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				tp.Begin(slow.At, pod, act, &trace.CRICall{Method: "RunPodSandbox"})
			} else {
				tp.Start(slow)
			}
			c.figures(tp, last)
			for at := 140 * s; at < c.after; at += 10 * s {
				idle(tp, at)
			}
			recs := tp.Records()
			whole, live := session.New(session.Options{}), backlog.New(backlog.Options{})
			for i := range recs {
				whole.Apply(&recs[i])
			}
			live.Apply(recs, 0)
			b, err := live.Backlog(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			late := session.New(session.Options{})
			for r := range b.All() {
				late.Apply(&r)
			}
			for name, of := range map[string]*session.Session{"recorded": whole, "live": late} {
				run, err := of.Find("shop/web")
				if err != nil {
					t.Fatal(err)
				}
				r := why.Explain(of.Case(run, time.Time{}))
				got := slices.ContainsFunc(r.Findings, func(f cause.Finding) bool { return f.ID == "KL23" && f.Cost >= 20*s })
				if got != c.want {
					t.Errorf("%s: KL23 is %t: %+v", name, got, r.Findings)
				}
			}
		})
	}
}
