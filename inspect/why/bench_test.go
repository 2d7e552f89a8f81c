package why_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// busy returns a session with the starts of n pods, ten at a time, with the agent's records of each start.
func busy(n int) *session.Session {
	tp := tape.New()
	for i := range n {
		at, pod := time.Duration(i)*30*ms, trace.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i)}
		tp.Point(at, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
		sync := tp.Begin(at, pod, 0, &trace.Sync{Why: trace.SyncCreate})
		tp.Point(at, pod, sync, &trace.Plan{Steps: []trace.PlanStep{
			{ID: "dirs", Verb: trace.VerbDirs},
			{ID: "volumes", Verb: trace.VerbVolumes, Needs: []string{"dirs"}},
			{ID: "sandbox", Verb: trace.VerbSandbox, Needs: []string{"dirs"}},
			{ID: "image web", Verb: trace.VerbImage},
			{ID: "create web", Verb: trace.VerbCreate, Needs: []string{"sandbox", "volumes", "image web"}},
			{ID: "start web", Verb: trace.VerbStart, Needs: []string{"create web"}},
		}})
		step := func(from, to time.Duration, id, verb, method string) {
			act := tp.Begin(at+from, pod, sync, &trace.Action{ID: id, Verb: trace.Verb(verb)})
			if verb == "sandbox" {
				tp.End(at+from+50*ms, tp.Begin(at+from, pod, act, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 4, Busy: 4}), nil)
			}
			if method != "" {
				tp.End(at+to, tp.Begin(at+from+50*ms, pod, act, &trace.CRICall{Method: method, Code: "OK"}), nil)
			}
			tp.End(at+to, act, nil)
		}
		step(0, ms, "dirs", "dirs", "")
		step(ms, 2*ms, "volumes", "volumes", "")
		step(0, 5*ms, "image web", "image", "")
		step(ms, 200*ms, "sandbox", "sandbox", "RunPodSandbox")
		step(200*ms, 260*ms, "create web", "create", "CreateContainer")
		step(260*ms, 330*ms, "start web", "start", "StartContainer")
		tp.Point(at+330*ms, pod, sync, &trace.Milestone{Name: trace.MilestoneStarted})
		tp.Point(at+330*ms, pod, sync, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
		tp.Point(at+330*ms, pod, sync, &trace.Milestone{Name: trace.MilestoneReady})
		tp.End(at+331*ms, sync, nil)
		for k := range 4 {
			tp.End(at+time.Duration(k)*80*ms+ms, tp.Begin(at+time.Duration(k)*80*ms, trace.Pod{}, 0, &trace.Loop{N: uint64(i), Case: trace.LoopPLEG}), nil)
		}
	}
	s := session.New(session.Options{})
	for _, r := range tp.Records() {
		s.Apply(&r)
	}
	return s
}

// BenchmarkWhyAll explains 10,000 starts of a session in each iteration.
func BenchmarkWhyAll(b *testing.B) {
	s := busy(10_000)
	for b.Loop() {
		for _, l := range s.Runs() {
			why.Brief(why.Explain(s.Case(l, time.Time{})))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(s.Runs())), "µs/start")
}

// BenchmarkWhyOne explains one of them.
func BenchmarkWhyOne(b *testing.B) {
	s := busy(10_000)
	l := s.Runs()[5000]
	for b.Loop() {
		why.Explain(s.Case(l, time.Time{}))
	}
}
