package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestBlockedLoop(t *testing.T) {
	initDone := func(s *casetest.Script) {
		s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		s.Wait(sec, 5*sec, 0, trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "setup"}})
	}
	run(t, "KL16", []script{
		{
			name: "an event waits for housekeeping",
			want: "the syncLoop was blocked, which delayed the pod for 2.00s: iteration 7 (housekeeping asked), destroy of cgroup /kubepods/podx 2.40s",
			cost: 2 * sec,
			write: func(s *casetest.Script) {
				initDone(s)
				l := s.Of(node(), 2500*ms, 5*sec, 0, &trace.Loop{N: 7, Case: trace.LoopHousekeeping, Op: trace.LoopAsked})
				s.Of(node(), 2600*ms, 5*sec, l, &trace.CgroupOp{Op: "destroy", Path: "/kubepods/podx"})
				s.Point(3*sec, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "setup"})
				start(s, 5*sec)
			},
		},
		{
			name: "nothing else explains the time", want: "the syncLoop was blocked, which delayed the pod for 2.00s: iteration 9 (pleg), no record shows by what",
			cost: 2 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				s.Of(node(), 500*ms, 3*sec, 0, &trace.Loop{N: 9, Case: trace.LoopPLEG})
				start(s, 3*sec, "sandbox")
			},
		},
		{
			name: "not: the init container was still at work",
			write: func(s *casetest.Script) {
				initDone(s)
				s.Of(node(), 2*sec, 4*sec, 0, &trace.Loop{N: 7, Case: trace.LoopHousekeeping})
				s.Point(4990*ms, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "setup"})
				start(s, 5*sec)
			},
		},
		{
			name: "not: the pod was busy itself",
			write: func(s *casetest.Script) {
				s.Action(0, 3*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				s.Of(node(), sec, 2*sec, 0, &trace.Loop{N: 7, Case: trace.LoopHousekeeping})
				start(s, 3*sec, "sandbox")
			},
		},
		{
			name: "not: iterations as they should be",
			write: func(s *casetest.Script) {
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				for i := range uint64(20) {
					from := sec + 90*ms*durationOf(i)
					s.Of(node(), from, from+80*ms, 0, &trace.Loop{N: i, Case: trace.LoopPLEG})
				}
				start(s, 3*sec, "sandbox")
			},
		},
	})
}
