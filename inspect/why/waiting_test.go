package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
)

// A wait for a probe says how the last attempt failed; when the next one is, is not written twice.
func TestWaitForAProbe(t *testing.T) {
	epoch := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	attempt := func(container string, result trace.ProbeResult, count int, output string) trace.Event {
		return &trace.ProbeAttempt{Container: container, Probe: trace.ProbeStartup, Result: result, Count: count, Threshold: 30, Output: output}
	}
	early := &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeStartup, Result: trace.ProbeFailure, Early: true}
	for _, c := range []struct {
		name   string
		before []trace.Event
		want   string
	}{
		{"not tried yet", nil, ""},
		{"failed", []trace.Event{attempt("web", trace.ProbeFailure, 27, "exit code 1"), early, attempt("db", trace.ProbeFailure, 1, "no")}, "failed, 27 of 30: exit code 1"},
		{"failed too often", []trace.Event{attempt("web", trace.ProbeFailure, 31, "")}, "failed, 31 in a row"},
		{"succeeded", []trace.Event{attempt("web", trace.ProbeFailure, 2, "no"), attempt("web", trace.ProbeSuccess, 1, "")}, ""},
		{"another instance", []trace.Event{attempt("web", trace.ProbeFailure, 30, "no"), &trace.Action{Verb: trace.VerbStart, Container: "web"}}, ""},
	} {
		target := trace.Target{Kind: trace.TargetProbe, Name: "startup", Container: "web"}
		wait := &trace.Wait{For: trace.WaitProbe, Target: target, Until: epoch.Add(10 * time.Second).UnixNano()}
		all := slices.Concat(c.before, []trace.Event{wait})
		in := &cause.Case{Now: epoch.Add(9 * time.Second)}
		for i, e := range all {
			r := trace.Record{Time: epoch.Add(time.Duration(i) * time.Second).UnixNano(), Event: e}
			if i == len(c.before) {
				r.Edge, r.Span = trace.EdgeBegin, 1
			}
			in.Records = append(in.Records, r)
		}
		got := waiting(in)
		if len(got) != 1 || got[0].Detail != c.want {
			t.Errorf("%s: %+v, want one with the detail %q", c.name, got, c.want)
		}
	}
}

// What happens next is in the third line only.
func TestShortWait(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wait := Waiting{For: trace.WaitProbe, On: "startup probe of web", Dur: time.Second, Next: "the next attempt", At: now.Add(2 * time.Second)}
	r := &Report{Pod: trace.Pod{Namespace: "shop", Name: "web"}, Now: now, Waiting: []Waiting{wait}}
	r.Cause = r.sentence(&cause.Case{Now: now})
	var out strings.Builder
	if err := Short(&out, r); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n")
	if want := "Why      it waits (probe) for startup probe of web, 1.00s so far.\nNext     the next attempt, in 2.00s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
