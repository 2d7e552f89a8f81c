package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	missing = `failed to setup network for sandbox "5f": failed to find plugin "calico" in path [/opt/cni/bin]`
	broken  = `failed to setup network for sandbox "5f": plugin type="bridge" name="net" failed (add): no IP addresses available`
)

// sandboxFails is a RunPodSandbox that failed, with the wait for the next try.
func sandboxFails(s *casetest.Script, at, until time.Duration, err string) {
	act := s.Action(at, at+sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox", Err: err})
	s.Call(at, at+sec, act, "RunPodSandbox", err)
	s.Wait(at+sec, until, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "sandbox: " + err})
}

func TestNetworkNotReady(t *testing.T) {
	run(t, "KL07", []script{
		{
			name: "no network yet", want: "the runtime has no pod network: NetworkPluginNotReady: cni plugin not initialized; that cost 30.0s so far",
			cost: 30 * sec, current: true, now: 30 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, 0, trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetNetwork}, Cause: "NetworkPluginNotReady: cni plugin not initialized"})
			},
		},
		{
			name: "a plugin is missing", want: "the CNI plugin calico is not on the node (", cost: 5 * sec, current: true, now: 5 * sec,
			write: func(s *casetest.Script) { sandboxFails(s, 0, casetest.Open, missing) },
		},
		{
			name: "a plugin failed, then worked", want: "the CNI plugin bridge failed once: ", cost: 2 * sec,
			write: func(s *casetest.Script) {
				sandboxFails(s, 0, 2*sec, broken)
				act := s.Action(2*sec, 3*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
				s.Call(2*sec, 3*sec, act, "RunPodSandbox", "")
				start(s, 3*sec, "sandbox")
			},
		},
		{
			name: "the error names no plugin, one was seen", want: `the pod's network could not be set up once: failed to setup network for sandbox "5f": netplugin failed with no error message: signal: killed; the last plugin to run was portmap`, cost: 2 * sec,
			write: func(s *casetest.Script) {
				const err = `failed to setup network for sandbox "5f": netplugin failed with no error message: signal: killed`
				act := s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox", Err: err})
				call := s.Call(0, sec, act, "RunPodSandbox", err)
				plugin(s, call, 0, 100*ms, "bridge", "ADD")
				plugin(s, call, 100*ms, 900*ms, "portmap", "ADD")
				s.Wait(sec, 2*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "sandbox: " + err})
				again := s.Action(2*sec, 3*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
				s.Call(2*sec, 3*sec, again, "RunPodSandbox", "")
				start(s, 3*sec, "sandbox")
			},
		},
		{
			name: "not: another wait for the runtime", now: 30 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, 0, trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}})
			},
		},
		{
			name: "not: the sandbox failed for another reason", now: 5 * sec,
			write: func(s *casetest.Script) {
				sandboxFails(s, 0, casetest.Open, "failed to create shim task: no such file")
			},
		},
		{
			name: "not: a word of the network in another pod's error", now: 5 * sec,
			write: func(s *casetest.Script) {
				s.Of(casetest.DB, 0, sec, 0, &trace.CRICall{Method: "RunPodSandbox", Code: "Unknown", Err: missing})
			},
		},
	})
}
