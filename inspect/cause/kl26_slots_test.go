package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSlotQueue(t *testing.T) {
	queue := func(s *casetest.Script, on trace.TargetKind, to time.Duration) {
		act := s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		s.Wait(0, to, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: on}, Size: 4, Busy: 4, Ahead: 37})
		start(s, sec, "sandbox")
	}
	run(t, "KL26", []script{
		{
			name: "many pods", want: "it waited 800ms for its turn at the container runtime: 4 of 4 slots busy, 37 in the queue; other pods in progress meanwhile: 1", cost: 800 * ms,
			write: func(s *casetest.Script) {
				s.Of(casetest.DB, 0, 900*ms, 0, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				queue(s, trace.TargetRuntimeSlots, 800*ms)
			},
		},
		{
			name: "still, with two steps at once", want: "it waited 1.00s so far for its turn at the container runtime", cost: sec, current: true, now: 1100 * ms,
			write: func(s *casetest.Script) {
				for _, step := range []string{"cgroup", "dirs"} {
					act := s.Action(100*ms, casetest.Open, trace.Action{ID: step, Verb: trace.Verb(step)})
					s.Wait(100*ms, casetest.Open, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}})
				}
			},
		},
		{name: "not: for a moment", write: func(s *casetest.Script) { queue(s, trace.TargetRuntimeSlots, 9*ms) }},
		{name: "not: operations of volumes", write: func(s *casetest.Script) { queue(s, trace.TargetVolumeSlots, 800*ms) }},
		{
			name: "not: the writing of statuses", now: 5 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, 0, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetStatuses}, Size: 10})
			},
		},
	})
}
