package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestThrottling(t *testing.T) {
	config := trace.Volume{Name: "config", Plugin: "kubernetes.io/configmap"}
	bucket := trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient}, Note: "the main client may ask 50 times a second, 100 at once"}
	run(t, "KL12", []script{
		{
			name: "the bucket is empty", want: "its requests to the API server waited 2.00s for the agent's own client throttling", cost: 2 * sec,
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 3*sec, config)
				s.Wait(0, 3*sec, v, trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app"}})
				s.Wait(0, 2*sec, 0, bucket) // the request is another goroutine's
				start(s, 3*sec, "volumes")
			},
		},
		{
			name: "Retry-After", want: "the API server asked the client to retry later, and that took 1.00s", cost: sec,
			write: func(s *casetest.Script) {
				v := volumes(s, 0, sec, config)
				s.Wait(0, sec, v, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetryAfter}, Cause: "get configmaps: status 429, again in 1s"})
				start(s, sec, "volumes")
			},
		},
		{
			name: "not: the write of a status",
			write: func(s *casetest.Script) {
				s.Action(0, 3*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				s.Wait(0, 2*sec, s.Span(0, 2*sec, 0, &trace.StatusPatch{Op: trace.PatchStatus}), bucket)
				start(s, 3*sec, "sandbox")
			},
		},
		{
			name: "not: another pod's request",
			write: func(s *casetest.Script) {
				s.Wait(0, 3*sec, volumes(s, 0, 3*sec, config), trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app"}})
				s.Of(casetest.DB, 0, 2*sec, 0, &bucket)
				start(s, 3*sec, "volumes")
			},
		},
		{
			name: "not: registryPullQPS",
			write: func(s *casetest.Script) {
				act := s.Action(0, 3*sec, trace.Action{ID: "image a", Verb: trace.VerbImage})
				s.Wait(0, 2*sec, act, trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetRegistry}})
				start(s, 3*sec, "image a")
			},
		},
	})
}
