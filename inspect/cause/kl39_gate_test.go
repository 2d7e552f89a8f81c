package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestReadinessGate(t *testing.T) {
	gated := func(s *casetest.Script, gates int) {
		s.Gates(gates)
		s.Action(0, 300*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
		s.Milestone(340*ms, trace.MilestoneStarted)
	}
	ready := func(s *casetest.Script, at time.Duration, n int) {
		s.Point(at, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: n, Total: 1})
	}
	run(t, "KL39", []script{
		{
			name: "nobody sets it", want: "all containers have been ready for 9.50s so far, and the condition of its readiness gate is not True", cost: 9500 * ms, current: true, now: 10 * sec,
			write: func(s *casetest.Script) { gated(s, 1); ready(s, 500*ms, 1) },
		},
		{
			name: "set in the end", want: "all containers were ready 4.50s before a condition of its 2 readiness gates is True", cost: 4500 * ms,
			write: func(s *casetest.Script) {
				gated(s, 2)
				ready(s, 500*ms, 1)
				s.Milestone(5*sec, trace.MilestoneReady)
			},
		},
		{
			name: "not: a container is not ready", now: 10 * sec,
			write: func(s *casetest.Script) { gated(s, 1); ready(s, 500*ms, 1); ready(s, sec, 0) },
		},
		{
			name: "not: no gate", now: 10 * sec,
			write: func(s *casetest.Script) { gated(s, 0); ready(s, 500*ms, 1) },
		},
		{
			name: "not: set at once", now: 10 * sec,
			write: func(s *casetest.Script) { gated(s, 1); ready(s, 500*ms, 1); s.Milestone(550*ms, trace.MilestoneReady) },
		},
	})
}
