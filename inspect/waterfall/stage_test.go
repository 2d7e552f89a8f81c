package waterfall_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestStages(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	at := time.Duration(0)
	do := func(a trace.Action, within func(span trace.SpanID)) {
		s := tp.Begin(at, web, 0, &a)
		if within != nil {
			within(s)
		}
		at += 50 * ms
		tp.End(at, s, nil)
	}
	do(trace.Action{ID: "cgroup", Verb: trace.VerbCgroup}, nil)
	do(trace.Action{ID: "volumes", Verb: trace.VerbVolumes}, func(s trace.SpanID) {
		w := tp.Begin(at, web, s, &trace.Wait{For: trace.WaitObject})
		tp.End(at+40*ms, w, nil)
	})
	do(trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, nil)
	do(trace.Action{ID: "image web", Verb: trace.VerbImage, Target: "web:1"}, nil)
	do(trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, nil)
	tp.Point(at, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: at})
	probe := tp.Begin(at, web, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness})
	tp.End(at+30*ms, probe, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, Result: trace.ProbeSuccess, State: trace.ProbeSays})
	tp.Point(at+30*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: at + 30*ms})
	f, err := waterfall.Build(tp.Records(), web)
	if err != nil {
		t.Fatal(err)
	}
	want := map[waterfall.Stage]bool{}
	for _, s := range []waterfall.Stage{
		waterfall.StageNone, waterfall.StageVolumes, waterfall.StageWait, waterfall.StageSandbox, waterfall.StageImage, waterfall.StageCreate, waterfall.StageProbe,
	} {
		want[s] = true
	}
	for _, r := range f.Rows() {
		delete(want, r.Stage)
	}
	for s := range want {
		t.Errorf("no row is of stage %q: %+v", s, f.Rows())
	}
	for _, s := range f.Path {
		if a := s.Stage(); s.Kind == waterfall.SegmentWork && a != waterfall.VerbStage(s.Verb) {
			t.Errorf("%s is of stage %q", s.Label(), a)
		}
	}
}
