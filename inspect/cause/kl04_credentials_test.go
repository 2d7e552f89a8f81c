package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSlowCredentials(t *testing.T) {
	asked := func(s *casetest.Script, wait time.Duration) {
		act := s.Action(0, 2*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
		s.Wait(0, wait, act, trace.Wait{For: trace.WaitCredentials, Target: trace.Target{Kind: trace.TargetProvider, Namespace: "shop.example/web", Name: "ecr-login"}})
		start(s, 2*sec, "image shop/web:1")
	}
	run(t, "KL04", []script{
		{
			name: "slow", want: "the pull waited 1.50s for the credential provider ecr-login to answer for shop.example/web", cost: 1500 * ms,
			write: func(s *casetest.Script) { asked(s, 1500*ms) },
		},
		{name: "not: quick", write: func(s *casetest.Script) { asked(s, 80*ms) }},
		{
			name: "not: an object of the API server",
			write: func(s *casetest.Script) {
				act := s.Action(0, 2*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				s.Wait(0, sec, act, trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetOther, Name: "Secret shop/pull"}})
				start(s, 2*sec, "image shop/web:1")
			},
		},
	})
}
