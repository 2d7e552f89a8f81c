package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestBehindHung(t *testing.T) {
	db := trace.Pod{Namespace: "shop", Name: "db", UID: "db"}
	queue := func(s *casetest.Script, to time.Duration, behind ...trace.Holder) {
		act := s.Action(0, 2*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		s.Wait(0, to, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 3, Busy: 3, Behind: behind})
		start(s, 2*sec, "sandbox")
	}
	run(t, "KL29", []script{
		{
			name: "behind one that hangs", want: "it waited 1.00s behind shop/db (sandbox, 4.00s, overstays)", cost: sec,
			write: func(s *casetest.Script) {
				queue(s, sec, trace.Holder{Pod: db, Call: "sandbox", For: 4 * sec, Overstays: true}, trace.Holder{Call: "create", For: 200 * ms})
			},
		},
		{
			name: "still", want: "it waited 6.00s so far behind shop/db (sandbox, 8.00s)", cost: 6 * sec, current: true, now: 6 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				act := s.Action(0, casetest.Open, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				s.Wait(0, casetest.Open, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Behind: []trace.Holder{{Pod: db, Call: "sandbox", For: 2 * sec}}})
			},
		},
		{name: "not: behind calls that take as long as usual", write: func(s *casetest.Script) {
			queue(s, sec, trace.Holder{Pod: db, Call: "sandbox", For: 900 * ms})
		}},
		{name: "not: for a moment", write: func(s *casetest.Script) {
			queue(s, 9*ms, trace.Holder{Pod: db, Call: "sandbox", For: 60 * sec, Overstays: true})
		}},
		{name: "not: nobody is named", write: func(s *casetest.Script) { queue(s, sec) }},
	})
}
