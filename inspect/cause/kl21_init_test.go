package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestInitDominates(t *testing.T) {
	initFor := func(s *casetest.Script, name string, from, to time.Duration) {
		s.Action(from, from+100*ms, trace.Action{ID: "start " + name, Verb: trace.VerbStart})
		s.Wait(from+100*ms, to, 0, trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: name}})
	}
	run(t, "KL21", []script{
		{
			name: "one of two", want: "init container migrate ran for 8.00s before the app containers could start; all init containers together took 8.90s", cost: 8900 * ms,
			write: func(s *casetest.Script) {
				initFor(s, "config", 0, sec)
				initFor(s, "migrate", sec, 9100*ms)
				start(s, 9100*ms)
			},
		},
		{
			name: "the pod failed", now: 10 * sec,
			write: func(s *casetest.Script) {
				initFor(s, "migrate", 0, 8*sec)
				s.Point(9*sec, 0, &trace.PodStatus{Phase: trace.PodFailed, Total: 1})
			},
		},
		{
			name: "still", want: "init container migrate ran for 59.9s so far before", cost: 59900 * ms, current: true, now: 60 * sec,
			write: func(s *casetest.Script) { initFor(s, "migrate", 0, casetest.Open) },
		},
		{
			name: "a sidecar that is probed", want: "init container proxy had not passed its startup probe for 4.90s", cost: 4900 * ms,
			write: func(s *casetest.Script) {
				initFor(s, "proxy", 0, 5*sec)
				s.Span(4*sec, 4100*ms, 0, &trace.ProbeAttempt{Container: "proxy", Probe: trace.ProbeStartup, Result: trace.ProbeSuccess})
				start(s, 5*sec)
			},
		},
		{
			name: "not: the pull takes longer",
			write: func(s *casetest.Script) {
				initFor(s, "config", 0, sec)
				s.Action(sec, 9*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				start(s, 9*sec, "image shop/web:1")
			},
		},
		{
			name: "not: half of next to nothing",
			write: func(s *casetest.Script) {
				initFor(s, "config", 0, 250*ms)
				start(s, 250*ms)
			},
		},
	})
}
