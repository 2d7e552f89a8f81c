package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSlowCgroup(t *testing.T) {
	ensure := trace.CgroupOp{Op: "ensure", Path: "/kubepods/podu"}
	run(t, "KL13", []script{
		{
			name: "slow", want: "operations on its cgroups took 400ms, most of it the ensure of /kubepods/podu", cost: 400 * ms,
			write: func(s *casetest.Script) {
				s.Span(0, 400*ms, s.Action(0, 400*ms, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup}), &ensure)
				start(s, 400*ms, "cgroup")
			},
		},
		{
			name: "it hangs", want: "operations on its cgroups took 9.00s so far", cost: 9 * sec, current: true, now: 9 * sec,
			write: func(s *casetest.Script) {
				s.Span(0, casetest.Open, s.Action(0, casetest.Open, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup}), &ensure)
			},
		},
		{
			name: "not: quick",
			write: func(s *casetest.Script) {
				s.Span(0, 40*ms, s.Action(0, 40*ms, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup}), &ensure)
				start(s, 40*ms, "cgroup")
			},
		},
		{
			name: "not: it queued for its turn",
			write: func(s *casetest.Script) {
				act := s.Action(0, 400*ms, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
				s.Wait(0, 395*ms, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}})
				s.Span(395*ms, 400*ms, act, &ensure)
				start(s, 400*ms, "cgroup")
			},
		},
		{
			name: "not: another pod's",
			write: func(s *casetest.Script) {
				s.Of(casetest.DB, 0, 400*ms, 0, &ensure)
				s.Action(0, 400*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, 400*ms, "sandbox")
			},
		},
	})
}
