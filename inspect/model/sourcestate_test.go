package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSources(t *testing.T) {
	tp := tape.New()
	set := tp.Begin(0, node, 0, &trace.Source{Source: trace.SourceFile, Op: trace.OpSet, Cause: trace.SourceStart, Path: "/m"})
	if s := modelOf(tp).Sources(); len(s) != 1 || s[0].State() != "reading" {
		t.Errorf("while it reads: %+v", s)
	}
	tp.End(ms, set, &trace.Source{Source: trace.SourceFile, Op: trace.OpSet, Cause: trace.SourceStart, Path: "/m", Pods: 1})
	tp.Point(2*ms, web, set, &trace.Source{Source: trace.SourceFile, Op: trace.OpAdd})
	tp.Point(3*ms, node, 0, &trace.SourceError{Source: trace.SourceFile, Path: "/m/bad.yaml", Line: 3, Message: "no"})
	tp.Point(4*ms, node, 0, &trace.SourceError{Source: trace.SourceAPI, Message: "connection refused"})
	tp.Begin(5*ms, node, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetWatch}, Cause: "next try in 4s", Class: trace.Classify("next try in 4s")})
	tp.Point(5*ms, node, 0, &trace.SourceError{Source: trace.SourceHTTP, Path: "https://a/b", Message: "503"})
	tp.Begin(5*ms, node, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetAddress, Name: "https://a/b"}})
	all := modelOf(tp)
	if w := all.API().Waits; len(w) != 1 {
		t.Errorf("what waits for a URL does not wait for the API server: %+v", w)
	}
	got := all.Sources()
	if len(got) != 3 || got[2].State() != "backing off" || got[2].Failing() == nil {
		t.Fatalf("sources %+v", got)
	}
	got = got[:2]
	bad := SourceError{At: when(3 * ms), SourceError: trace.SourceError{Source: trace.SourceFile, Path: "/m/bad.yaml", Line: 3, Message: "no"}}
	down := SourceError{At: when(4 * ms), SourceError: trace.SourceError{Source: trace.SourceAPI, Message: "connection refused"}}
	want := []Source{
		{Name: "api", Errors: []SourceError{down}, Wait: Wait{Wait: trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetWatch}, Cause: "next try in 4s"}, Since: when(5 * ms)}},
		{Name: "file", At: when(ms), Pods: 1, Cause: "start", Path: "/m", Sets: 1, Changes: 1, Op: "ADD", Pod: web, Changed: when(2 * ms), Errors: []SourceError{bad}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[0].State() != "backing off" || got[0].Failing() == nil || got[1].State() != "with errors" || got[1].Failing() != nil {
		t.Errorf("states %q and %q", got[0].State(), got[1].State())
	}
}

func TestNodeConditions(t *testing.T) {
	tp := tape.New()
	write := func(ready bool, fail string, changed ...trace.Change) {
		t.Helper()
		e := &trace.NodeStatus{Op: "patch", Ready: ready, Changed: changed, Err: fail}
		tp.End(ms, tp.Begin(0, node, 0, e), e)
	}
	condition := func(name, from, to, reason string) trace.Change {
		return trace.Change{What: trace.ChangeCondition, Name: name, From: from, To: to, Reason: reason}
	}
	write(false, "", trace.Change{What: trace.ChangeField, Name: "labels"}, condition("MemoryPressure", "", "False", "Enough"),
		condition("Ready", "", "False", "Starting"), condition("PIDPressure", "False", "False", "StillEnough"))
	write(true, "", condition("Ready", "False", "True", "KubeletReady"), condition("Readyish", "", "True", ""))
	write(false, "refused", condition("MemoryPressure", "False", "True", "Short"))
	want := []Condition{
		{Type: "Ready", Status: "True", Reason: "KubeletReady", At: when(ms), Seq: 5},
		{Type: "MemoryPressure", Status: "False", Reason: "Enough", At: when(ms), Seq: 4},
	}
	if diff := cmp.Diff(want, modelOf(tp).NodeConditions()); diff != "" {
		t.Error(diff)
	}
	write(false, "")
	if c := modelOf(tp).NodeConditions()[0]; c.Status != "False" || c.Reason != "" {
		t.Errorf("every write tells whether it is ready: %+v", c)
	}
}

func TestPressureHistory(t *testing.T) {
	tp := tape.New()
	for i := range 2 * pressureSamples {
		tp.Point(0, node, 0, &trace.Pressure{Signal: trace.SignalMemory, Used: int64(i), Capacity: 1000})
	}
	tp.Point(0, node, 0, &trace.Decision{By: trace.ByPressure, Subject: "memory", Verdict: trace.VerdictShort})
	tp.Point(0, node, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictAdmit})
	tp.Point(ms, node, 0, &trace.Decision{By: trace.ByPressure, Subject: "memory", Verdict: trace.VerdictEnough})
	m := modelOf(tp)
	h := m.PressureHistory("memory")
	if len(h) != pressureSamples || h[0].Used != pressureSamples || h[len(h)-1].Used != 2*pressureSamples-1 {
		t.Errorf("%d figures", len(h))
	}
	if m.PressureHistory("nodefs") != nil {
		t.Error("figures of what was never measured")
	}
	if s := m.Shortages(); len(s) != 1 || s[0].Verdict != trace.VerdictEnough || !s[0].At.Equal(when(ms)) {
		t.Errorf("shortages %+v", s)
	}
}
