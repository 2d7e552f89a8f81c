package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
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

// TestThrottlingOfObjects: the log of a kubelet that is not ours tells which object a request was for, and not which pod waited for it.
func TestThrottlingOfObjects(t *testing.T) {
	keys := trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "keys"}
	request := func(s *casetest.Script, from, to time.Duration, of trace.Target) {
		s.Of(trace.Pod{}, from, to, 0, &trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient, Name: "main"}, Request: of})
	}
	failed := trace.Volume{Op: trace.VolumeSetup, Name: "keys", Plugin: "kubernetes.io/secret", Err: "failed to sync secret cache: timed out waiting for the condition"}
	retried := func(s *casetest.Script) { // two attempts of a second each, and a wait after the first
		act := s.Action(0, 3*sec, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
		s.Span(0, sec, act, &failed)
		s.Wait(sec, 2500*ms, act, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetVolume, Name: "keys"}, Cause: failed.Err})
		s.Span(2500*ms, 3*sec, act, &trace.Volume{Op: trace.VolumeSetup, Name: "keys", Plugin: "kubernetes.io/secret"})
		start(s, 3*sec, "volumes")
	}
	near := func(name string, write func(*casetest.Script)) script {
		return script{name: "not: " + name, write: write}
	}
	run(t, "KL12", []script{
		{
			name: "the pod's Secret", want: "it waited 2.50s for objects of the API server, longest for secret shop/keys", cost: 2500 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Objects(trace.Object{Kind: trace.TargetConfigMap, Name: "app"}, trace.Object{Kind: trace.TargetSecret, Name: "keys"})
				request(s, 0, 2*sec, keys) // the wait to retry ends half a second later
				retried(s)
			},
		},
		near("an object that the pod does not refer to", func(s *casetest.Script) {
			s.Objects(trace.Object{Kind: trace.TargetConfigMap, Name: "keys"}, trace.Object{Kind: trace.TargetSecret, Name: "other"})
			request(s, 0, 2*sec, keys)
			retried(s)
		}),
		near("an object of another namespace", func(s *casetest.Script) {
			s.Objects(trace.Object{Kind: trace.TargetSecret, Name: "keys"})
			request(s, 0, 2*sec, trace.Target{Kind: trace.TargetSecret, Namespace: "other", Name: "keys"})
			retried(s)
		}),
		near("the pod's spec is not known", func(s *casetest.Script) {
			request(s, 0, 2*sec, keys)
			retried(s)
		}),
		near("a request of which the log says no object", func(s *casetest.Script) {
			s.Objects(trace.Object{Kind: trace.TargetSecret, Name: "keys"})
			request(s, 0, 2*sec, trace.Target{})
			retried(s)
		}),
		near("storage took as long", func(s *casetest.Script) {
			s.Objects(trace.Object{Kind: trace.TargetSecret, Name: "keys"})
			request(s, 0, 2*sec, keys)
			volumes(s, 0, 3*sec, trace.Volume{Name: "data", Plugin: csiPlugin})
			start(s, 3*sec, "volumes")
		}),
		near("after the volumes were set up", func(s *casetest.Script) {
			s.Objects(trace.Object{Kind: trace.TargetSecret, Name: "keys"})
			volumes(s, 0, 100*ms, trace.Volume{Name: "keys", Plugin: "kubernetes.io/secret"})
			request(s, 200*ms, 2*sec, keys)
			s.Action(100*ms, 3*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "volumes")
			start(s, 3*sec, "sandbox")
		}),
	})
}
