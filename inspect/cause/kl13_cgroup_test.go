package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// metrics are those of a kubelet, three seconds after a start of which nothing is known for a while: an operation took so long.
func metrics(s *casetest.Script, unexplained, took time.Duration) {
	s.Action(unexplained, unexplained+sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	start(s, unexplained+sec, "sandbox")
	s.Told(unexplained+3*sec, took, 4*sec, &trace.CgroupOp{Op: trace.CgroupUpdate})
}

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
			name: "by the kubelet's metrics", want: "an operation of the kubelet on cgroups (update) took 400ms, as long as a part of its start", cost: 400 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) { metrics(s, 500*ms, 400*ms) },
		},
		{
			name:  "not: by metrics, of a time that is explained, or too short",
			write: func(s *casetest.Script) { metrics(s, 300*ms, 400*ms) },
		},
		{
			name:  "not: by metrics, and little of the start",
			write: func(s *casetest.Script) { metrics(s, 5*sec, 100*ms) },
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
