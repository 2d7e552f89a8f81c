package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestDevices(t *testing.T) {
	const gpu = "example.com/gpu"
	wait := func(s *casetest.Script, to time.Duration) {
		s.Wait(0, to, 0, trace.Wait{For: trace.WaitDevices, Target: trace.Target{Kind: trace.TargetDevicePlugin, Name: gpu, Container: "web"}})
		s.Point(to, 0, &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{"g0"}, Took: to})
		s.Action(to, to+2*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		start(s, to+2*sec, "sandbox")
	}
	refuse := func(s *casetest.Script, then ...trace.DeviceOutcome) {
		const why = "requested number of devices unavailable for " + gpu + ". Requested: 2, Available: 1"
		s.Point(sec, 0, &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesRefused, Count: 2, Err: why})
		for _, o := range then {
			s.Point(2*sec, 0, &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: o, Count: 2})
		}
		if len(then) == 0 {
			s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "UnexpectedAdmissionError", Reason: "UnexpectedAdmissionError: Allocate failed due to " + why + ", which is unexpected"})
		}
	}
	run(t, "KL42", []script{
		{name: "slow", want: "the pod waited 3.00s for the device plugin of example.com/gpu to answer", cost: 3 * sec, write: func(s *casetest.Script) { wait(s, 3*sec) }},
		{
			name: "too few", current: true, want: "the pod did not get 2 example.com/gpu for container web: requested number of devices unavailable",
			write: func(s *casetest.Script) { refuse(s) },
		},
		{name: "not: quick", write: func(s *casetest.Script) { wait(s, 5*ms) }},
		{name: "not: it got them then", write: func(s *casetest.Script) { refuse(s, trace.DevicesAllocated) }},
		{
			name: "not: rejected for something else",
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "OutOfcpu", Reason: "OutOfcpu: too little"})
			},
		},
	})
}
