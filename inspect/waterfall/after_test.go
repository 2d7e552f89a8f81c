package waterfall_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Events after a start, such as a restart or the pod's termination, have no row in it.
func TestWhatComesAfterHasNoRow(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	start := tp.Begin(0, web, 0, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	tp.End(100*ms, start, nil)
	tp.Point(100*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 100 * ms})
	tp.Point(100*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 100 * ms})
	again := tp.Begin(200*ms, web, 0, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	tp.End(300*ms, again, nil)
	tp.Begin(400*ms, web, 0, &trace.Action{ID: "kill web", Verb: trace.VerbKill, Container: "web"})
	f, err := waterfall.Build(tp.Records(), web)
	if err != nil {
		t.Fatal(err)
	}
	if rows := f.Rows(); len(rows) != 2 || rows[1].Dur() != 100*ms {
		t.Errorf("rows %+v, want those of the pod seen and of the first start", rows)
	}
}

// Two observers told of a start and of readiness in the wrong order.
func TestReadyIsNotBeforeTheStart(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	tp.Point(98*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 98 * ms})
	tp.Point(100*ms, web, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 100 * ms})
	f, err := waterfall.Build(tp.Records(), web)
	if err != nil {
		t.Fatal(err)
	}
	if f.Started != 100*ms || f.Ready != 100*ms || f.End != 100*ms {
		t.Errorf("started %v, ready %v, end %v; want 100ms each", f.Started, f.Ready, f.End)
	}
}
