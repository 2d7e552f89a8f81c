package backlog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// steady returns the records of a node with pods that have one probe each, for some time after their starts. One of
// them fails for a while at the end.
func steady(pods int, lasts time.Duration) []trace.Record {
	tp := tape.New()
	pod := func(i int) trace.Pod {
		return trace.Pod{Namespace: "shop", Name: fmt.Sprint("web", i), UID: fmt.Sprint(i)}
	}
	tp.Point(0, trace.Pod{}, 0, &trace.Agent{State: trace.AgentReady})
	for i := range pods {
		tp.Start(tape.Start{Pod: pod(i), At: time.Second, Image: "web:1", Sandbox: time.Second, Create: time.Second, Run: time.Second, Probe: time.Second})
		tp.Point(6*time.Second, pod(i), 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	}
	probe := trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}
	for at := 10 * time.Second; at < lasts; at += 10 * time.Second {
		tp.Point(at, trace.Pod{}, 0, &trace.Usage{Interval: 10 * time.Second, CPU: time.Second})
		tp.End(at, tp.Begin(at, trace.Pod{}, 0, &trace.APICall{Verb: "update", Resource: "leases"}), &trace.APICall{Verb: "update", Resource: "leases", Code: 200})
		for i := range pods {
			tp.End(at+9*time.Second, tp.Begin(at, pod(i), 0, &trace.Wait{For: trace.WaitProbe, Target: probe}), nil)
			e := trace.ProbeAttempt{Probe: trace.ProbeReadiness, Container: "web", How: trace.ProbeExec, Result: trace.ProbeSuccess, State: trace.ProbeSays}
			if i == 0 && lasts-at < time.Minute {
				e.Result, e.State, e.Output = trace.ProbeFailure, trace.ProbeDenies, "it is broken"
			}
			a := tp.Begin(at+9*time.Second, pod(i), 0, &trace.ProbeAttempt{Probe: trace.ProbeReadiness, Container: "web", How: trace.ProbeExec})
			tp.End(at+9100*time.Millisecond, tp.Begin(at+9*time.Second, pod(i), a, &trace.CRICall{Method: "ExecSync"}), &trace.CRICall{Method: "ExecSync", Code: "OK"})
			tp.End(at+9100*time.Millisecond, a, &e)
			if e.State == trace.ProbeDenies {
				tp.Point(at+9100*time.Millisecond, pod(i), 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1})
			}
		}
	}
	return tp.Records()
}

// TestANodeThatIsWell: a healthy node needs no more memory after a day than when its histories are full: repeated
// records are not kept.
func TestANodeThatIsWell(t *testing.T) {
	kept := func(lasts time.Duration) int {
		k := backlog.New(backlog.Options{})
		k.Apply(steady(5, lasts), 0)
		b, err := k.Backlog(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Holes) > 0 {
			t.Errorf("after %v records are told as lost: %+v", lasts, b.Holes)
		}
		return len(b.Records)
	}
	if hours, day := kept(4*time.Hour), kept(24*time.Hour); day > hours+hours/20 {
		t.Errorf("%d records are kept after a day, %d after four hours", day, hours)
	}
}

// TestLiveIsRecordedAfterHours: even after hours, late readers see the same as in a recording.
func TestLiveIsRecordedAfterHours(t *testing.T) {
	recs := steady(3, 3*time.Hour)
	k, whole := backlog.New(backlog.Options{}), session.New(session.Options{})
	k.Apply(recs, 0)
	for i := range recs {
		whole.Apply(&recs[i])
	}
	if diff := cmp.Diff(explained(t, whole), explained(t, attached(t, k))); diff != "" {
		t.Errorf("-recorded +live:\n%s", diff)
	}
}
