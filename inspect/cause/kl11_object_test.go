package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestObjectWait(t *testing.T) {
	config := trace.Volume{Name: "config", Plugin: "kubernetes.io/configmap"}
	object := trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app"}}
	run(t, "KL11", []script{
		{
			name: "a slow answer", want: "it waited 3.00s for configmap shop/app", cost: 3 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, 3*sec, volumes(s, 0, 3*sec, config), object)
				s.Span(0, 3*sec, 0, &trace.APICall{Verb: "get", Resource: "configmaps", Namespace: "shop", Name: "app", Code: 200})
				start(s, 3*sec, "volumes")
			},
		},
		{
			name: "not readable yet", want: "it waited 1.00s for secret shop/key", cost: 1 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, sec, volumes(s, 0, sec, config), trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "key"}, Cause: "the API server does not let this node read it yet"})
				start(s, sec, "volumes")
			},
		},
		{
			name: "a volume's object is missing", want: `it waited 20.0s so far to retry after setup of volume "config"`, cost: 19990 * ms, current: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				err := `setup of volume "config" (kubernetes.io/configmap) failed: configmap "app" not found`
				act := s.Action(0, 10*ms, trace.Action{ID: "volumes", Verb: trace.VerbVolumes, Err: err})
				s.Span(0, 10*ms, act, &trace.Volume{Op: "setup", Name: "config", Plugin: config.Plugin, Err: err})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "volumes: " + err})
			},
		},
		{
			name: "an environment's object is missing", want: `it waited 20.0s so far to retry after container web: env[X]: configmaps "none" not found`, cost: 19990 * ms, current: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				s.Action(0, 10*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Err: `container web: env[X]: configmaps "none" not found`})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CreateContainerConfigError"})
			},
		},
		{
			name: "a claim without a volume", want: "it waited 20.0s so far to retry after volumes: error processing PVC shop/data: PVC is not bound: a claim has no volume", cost: 19990 * ms, current: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				err := "volumes: error processing PVC shop/data: PVC is not bound"
				s.Action(0, 10*ms, trace.Action{ID: "volumes", Verb: trace.VerbVolumes, Err: err, Class: trace.FailUnbound})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: err})
			},
		},
		{
			name: "a claim without a volume, by Events alone", want: `it waited 58.0s so far for volume data: Unable to attach or mount volumes: error processing PVC shop/data: PVC is not bound: a claim has no volume`, cost: 58 * sec, current: true, now: 60 * sec,
			write: func(s *casetest.Script) {
				for _, at := range []time.Duration{2 * sec, 4 * sec, 8 * sec} {
					s.Point(at, 0, &trace.NodeEvent{
						Type: trace.EventWarning, Reason: "FailedMount", Volume: "data", Class: trace.FailUnbound,
						Message: "Unable to attach or mount volumes: error processing PVC shop/data: PVC is not bound",
					})
				}
			},
		},
		{
			name: "not: the client's own throttling (KL12)",
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 3*sec, config)
				s.Wait(0, 3*sec, v, object)
				s.Wait(0, 2990*ms, 0, trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient}})
				start(s, 3*sec, "volumes")
			},
		},
		{
			name: "not: a container that crashes",
			write: func(s *casetest.Script) {
				s.Action(0, 10*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Err: "no such runtime"})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CreateContainerError"})
			},
		},
		{
			name: "not: the object came, and something else failed", now: 20 * sec,
			write: func(s *casetest.Script) {
				s.Action(0, 10*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Err: `container web: env[X]: configmaps "none" not found`})
				s.Action(20*ms, 30*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"})
				s.Wait(40*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "no space left on device"})
			},
		},
		{
			name: "not: a program whose name has secret in it", now: 20 * sec,
			write: func(s *casetest.Script) {
				err := `failed to create containerd task: exec: "secret-agent": executable file not found in $PATH`
				s.Action(0, 10*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Err: err})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CreateContainerError"})
			},
		},
		{
			name: "not: it was there before it was needed",
			write: func(s *casetest.Script) {
				s.Wait(0, 300*ms, volumes(s, 0, 300*ms, config), object)
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, sec, "sandbox", "volumes")
			},
		},
	})
}
