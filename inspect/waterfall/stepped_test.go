package waterfall_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Actions of a stepped sync run one by one, including those after the gate was opened, which are not asked about.
func TestGateOpenedInTheMiddle(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := tp.Begin(0, web, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	tp.Point(0, web, sync, &trace.Plan{Steps: []trace.PlanStep{
		{ID: "cgroup", Verb: trace.VerbCgroup}, {ID: "image a", Verb: trace.VerbImage}, {ID: "start web", Verb: trace.VerbStart, Needs: []string{"image a"}},
	}})
	cgroup := tp.Begin(0, web, sync, &trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	gate := tp.Begin(0, web, cgroup, &trace.Wait{For: trace.WaitGate, Target: trace.Target{Kind: trace.TargetPerson}})
	tp.End(500*ms, gate, nil)
	tp.End(501*ms, cgroup, nil)
	image := tp.Begin(501*ms, web, sync, &trace.Action{ID: "image a", Verb: trace.VerbImage})
	tp.End(600*ms, image, nil)
	start := tp.Begin(600*ms, web, sync, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	tp.End(700*ms, start, nil)
	tp.Point(700*ms, web, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 700 * ms})
	tp.End(700*ms, sync, nil)
	f, err := waterfall.Build(tp.Records(), web)
	if err != nil {
		t.Fatal(err)
	}
	if f.Unexplained > 0 || len(f.Waits) != 1 || f.Waits[0].Dur != 500*ms {
		t.Errorf("unexplained %s, waits %v, want only the gate's 500ms", f.Unexplained, f.Waits)
	}
}
