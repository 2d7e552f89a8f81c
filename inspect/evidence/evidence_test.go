package evidence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

const minute = int64(time.Minute)

func TestInterest(t *testing.T) {
	milestone := func(at int64, name string) trace.Record {
		return trace.Record{Time: at * minute, Event: &trace.Milestone{Name: trace.MilestoneName(name)}}
	}
	ready := func(at int64, n int) trace.Record {
		return trace.Record{Time: at * minute, Event: &trace.PodStatus{Phase: trace.PodRunning, Ready: n, Total: 1}}
	}
	done := func(at int64) trace.Record {
		return trace.Record{Time: at * minute, Event: &trace.PodStatus{Phase: trace.PodSucceeded, Total: 1}}
	}
	const settled = int64(5 * time.Second)
	type list = []evidence.Interval
	for name, c := range map[string]struct {
		recs []trace.Record
		now  int64
		want list
	}{
		"starting":             {[]trace.Record{milestone(1, "seen")}, 9, list{{1 * minute, 9 * minute}}},
		"up":                   {[]trace.Record{milestone(1, "seen"), ready(2, 1), milestone(2, "ready")}, 99, list{{1 * minute, 2*minute + settled}}},
		"down":                 {[]trace.Record{milestone(1, "seen"), milestone(2, "ready"), ready(50, 0)}, 60, list{{1 * minute, 2*minute + settled}, {40 * minute, 60 * minute}}},
		"down soon":            {[]trace.Record{milestone(1, "seen"), milestone(2, "ready"), ready(5, 0)}, 60, list{{1 * minute, 60 * minute}}},
		"up again":             {[]trace.Record{milestone(1, "seen"), milestone(2, "ready"), ready(50, 0), ready(51, 1)}, 60, list{{1 * minute, 2*minute + settled}}},
		"ending":               {[]trace.Record{milestone(1, "seen"), milestone(2, "ready"), milestone(50, "terminating")}, 60, list{{1 * minute, 2*minute + settled}, {40 * minute, 60 * minute}}},
		"gone":                 {[]trace.Record{milestone(1, "seen"), milestone(2, "ready"), milestone(50, "terminating"), milestone(51, "gone")}, 60, list{{1 * minute, 2*minute + settled}, {40 * minute, 51 * minute}}},
		"done without a probe": {[]trace.Record{milestone(1, "seen"), done(3)}, 60, list{{1 * minute, 3 * minute}}},
	} {
		t.Run(name, func(t *testing.T) {
			var times evidence.Times
			for i := range c.recs {
				times.See(&c.recs[i])
			}
			if diff := cmp.Diff(c.want, times.Interest(c.now*minute)); diff != "" {
				t.Errorf("interest (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlaps(t *testing.T) {
	all := []evidence.Interval{{From: 10, To: 20}, {From: 30, To: 40}}
	for _, c := range []struct {
		from, to int64
		want     bool
	}{{0, 9, false}, {0, 10, true}, {12, 13, true}, {20, 25, true}, {21, 29, false}, {5, 90, true}, {41, 50, false}, {40, 50, true}, {35, 34, false}} {
		if got := evidence.Overlaps(all, c.from, c.to); got != c.want {
			t.Errorf("[%d, %d]: %t", c.from, c.to, got)
		}
	}
}

// TestRoutine: of attempts that went well the last three of each row are left, with their waits and calls; one that failed stays, with three
// before it.
func TestRoutine(t *testing.T) {
	times := evidence.Times{Ready: 1}
	var n evidence.Routine
	left := map[trace.SpanID]bool{}
	see := func(id trace.SpanID, parent trace.SpanID, edge trace.Edge, e trace.Event) {
		left[id] = true
		if a := n.See(&times, &trace.Record{Span: id, Parent: parent, Edge: edge, Event: e}); a != nil {
			for _, id := range a.Spans {
				delete(left, id)
			}
		}
	}
	probe := trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}
	for i := range trace.SpanID(20) {
		result := "success"
		if i == 9 {
			result = "failure"
		}
		see(100+i, 0, trace.EdgeBegin, &trace.Wait{For: trace.WaitProbe, Target: probe})
		see(100+i, 0, trace.EdgeEnd, &trace.Wait{For: trace.WaitProbe, Target: probe})
		see(200+i, 0, trace.EdgeBegin, &trace.ProbeAttempt{Probe: trace.ProbeReadiness, Container: "web"})
		see(300+i, 200+i, trace.EdgeBegin, &trace.CRICall{Method: "ExecSync"})
		see(400+i, 300+i, trace.EdgePoint, &trace.RuntimeSpan{Name: "exec"})
		see(300+i, 200+i, trace.EdgeEnd, &trace.CRICall{Method: "ExecSync"})
		see(200+i, 0, trace.EdgeEnd, &trace.ProbeAttempt{Probe: trace.ProbeReadiness, Container: "web", Result: trace.ProbeResult(result), State: trace.ProbeSays})
		see(500+i, 0, trace.EdgePoint, &trace.PLEGEvent{})
	}
	want := map[trace.SpanID]bool{}
	for _, i := range []trace.SpanID{6, 7, 8, 9, 17, 18, 19} {
		want[100+i], want[200+i], want[300+i], want[400+i] = true, true, true, true
	}
	for i := range trace.SpanID(20) {
		want[500+i] = true
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("spans that are left (-want +got):\n%s", diff)
	}
}
