package backlog_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Whoever attaches late can tell what a pod's end consists of, also when its worker told first that it ends.
func TestEnd(t *testing.T) {
	const ms = time.Millisecond
	web := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, web, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	tp.Point(10*ms, web, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 10 * ms})
	tp.Point(20*ms, web, 0, &trace.Worker{From: trace.WorkerSyncing, To: trace.WorkerTerminating})
	tp.Point(20*ms, web, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	kill := tp.Begin(21*ms, web, 0, &trace.Action{ID: "kill web", Verb: trace.VerbKill})
	wait := tp.Begin(21*ms, web, kill, &trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetOther, Name: "web"}})
	tp.End(30*ms, wait, nil)
	tp.End(30*ms, kill, nil)
	tp.Point(31*ms, web, 0, &trace.Milestone{Name: trace.MilestoneGone, Since: 11 * ms})

	k := backlog.New(backlog.Options{})
	k.Apply(tp.Records(), 0)
	b, err := k.Backlog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for r := range b.All() {
		switch e := r.Event.(type) {
		case *trace.Milestone:
			got[string(e.Name)]++
		case *trace.Action, *trace.Wait:
			got[e.Kind().String()]++
		}
	}
	for what, want := range map[string]int{"terminating": 1, "gone": 1, "pod.action": 2, "pod.wait": 2} {
		if got[what] != want {
			t.Errorf("%d records of %s, want %d", got[what], what, want)
		}
	}
}
