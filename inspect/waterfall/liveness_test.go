package waterfall_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A liveness probe runs until ready, but nothing waits for it.
func TestLivenessIsNotOnThePath(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	start := tp.Begin(0, web, 0, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	tp.End(100*ms, start, nil)
	tp.Point(100*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 100 * ms})
	for probe, end := range map[string]time.Duration{"liveness": 299 * ms, "readiness": 200 * ms} {
		at := tp.Begin(100*ms, web, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeKind(probe)})
		tp.End(end, at, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeKind(probe), Result: trace.ProbeSuccess, State: trace.ProbeSays})
	}
	wait := tp.Begin(200*ms, web, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "liveness", Container: "web"}})
	tp.End(299*ms, wait, nil)
	tp.Point(300*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 300 * ms})
	f, err := waterfall.Build(tp.Records(), web)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Tail {
		if strings.HasPrefix(s.Label(), "liveness") || s.Kind == waterfall.SegmentWait {
			t.Errorf("on the path: %+v", s)
		}
	}
}
