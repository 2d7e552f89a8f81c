package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const reserved = `failed to reserve sandbox name "web_shop_u-web_0": name "web_shop_u-web_0" is reserved for "8c"`

func TestNameReserved(t *testing.T) {
	late := func(s *casetest.Script) {
		act := s.Action(0, 10*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox", Err: "deadline"})
		s.Span(0, 10*sec, act, &trace.CRICall{Method: "RunPodSandbox", Code: "DeadlineExceeded", Err: "context deadline exceeded"})
		s.Wait(10*sec, 11*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "rpc error: code = DeadlineExceeded"})
	}
	run(t, "KL08", []script{
		{
			name: "goes on", want: "RunPodSandbox got no answer for 10.0s, and while the runtime continued it, the runtime refused its name once (failed to reserve",
			cost: 14 * sec, current: true, now: 14 * sec,
			write: func(s *casetest.Script) {
				late(s)
				sandboxFails(s, 11*sec, casetest.Open, reserved)
			},
		},
		{
			name: "was", want: "RunPodSandbox got no answer for 10.0s", cost: 13 * sec,
			write: func(s *casetest.Script) {
				late(s)
				sandboxFails(s, 11*sec, 13*sec, reserved)
				act := s.Action(13*sec, 14*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
				s.Call(13*sec, 14*sec, act, "RunPodSandbox", "")
				start(s, 14*sec, "sandbox")
			},
		},
		{name: "not: no time-out was seen", now: 14 * sec, write: func(s *casetest.Script) { sandboxFails(s, 0, casetest.Open, reserved) }},
		{name: "not: a time-out alone", now: 14 * sec, write: late},
		{
			name: "not: a time-out of another call", now: 14 * sec,
			write: func(s *casetest.Script) {
				s.Span(0, 10*sec, 0, &trace.CRICall{Method: "StopPodSandbox", Code: "DeadlineExceeded", Err: "context deadline exceeded"})
				sandboxFails(s, 11*sec, casetest.Open, reserved)
			},
		},
	})
}
