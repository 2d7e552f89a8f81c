package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const gpus = "gpu.example.com"

// claims writes an attempt to prepare the pod's claims, as the agent does, and its retry.
func claims(s *casetest.Script, from, to time.Duration, fault trace.ClaimFault, err string) {
	driver := trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: gpus}, Limit: 45 * time.Second}
	op := trace.ClaimPrepared
	if fault != "" {
		op = trace.ClaimNotPrepared
	}
	called := fault != trace.FaultDriverMissing
	a := s.Action(from, to, trace.Action{ID: "claims", Verb: trace.VerbClaims, Err: err})
	ev := &trace.ResourceClaim{Op: op, Namespace: "shop", Name: "gpu", UID: "u-gpu", Driver: gpus, Fault: fault, Err: err}
	if called {
		ev.Took = to - from
		s.Wait(from, to, a, driver)
	}
	s.Point(to, a, ev)
}

// again is the wait for the next attempt.
func again(s *casetest.Script, from, to time.Duration, on trace.Target, err string) {
	s.Wait(from, to, 0, trace.Wait{For: trace.WaitClaims, Target: on, Tries: 1, Cause: err})
}

func TestDRADriver(t *testing.T) {
	on := trace.Target{Kind: trace.TargetDRADriver, Name: gpus}
	then := func(s *casetest.Script, at time.Duration) {
		s.Action(at, at+2*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "claims")
		start(s, at+2*sec, "sandbox")
	}
	const missing = "DRA driver " + gpus + " is not registered"
	run(t, "KL44", []script{
		{name: "slow", want: "the pod waited 3.00s for DRA driver gpu.example.com, which took so long to prepare its ResourceClaims", cost: 3 * sec, write: func(s *casetest.Script) {
			claims(s, 0, 3*sec, "", "")
			then(s, 3*sec)
		}},
		{
			name: "not registered", current: true, cost: 20*sec - 5*ms, want: "the pod waited 20.0s so far for DRA driver gpu.example.com, which was not registered on this node",
			write: func(s *casetest.Script) {
				claims(s, 0, 5*ms, trace.FaultDriverMissing, missing)
				again(s, 5*ms, casetest.Open, on, missing)
			}, now: 20 * sec,
		},
		{
			name: "fails", current: true, cost: 20 * sec, want: "the pod waited 20.0s so far for DRA driver gpu.example.com, which failed: NodePrepareResources failed for ResourceClaim gpu: no such GPU",
			write: func(s *casetest.Script) {
				claims(s, 0, sec, trace.FaultDriverFailed, "NodePrepareResources failed for ResourceClaim gpu: no such GPU")
				again(s, sec, casetest.Open, on, "no such GPU")
			}, now: 20 * sec,
		},
		{
			name: "wrong answer", current: true, cost: 20 * sec, want: "the pod waited 20.0s so far for DRA driver gpu.example.com, which failed: NodePrepareResources skipped 1 ResourceClaims",
			write: func(s *casetest.Script) {
				claims(s, 0, sec, trace.FaultDriverAnswer, "NodePrepareResources skipped 1 ResourceClaims")
				again(s, sec, casetest.Open, on, "")
			}, now: 20 * sec,
		},
		{
			name: "hangs", current: true, cost: 50 * sec, want: "the pod waited 50.0s so far for DRA driver gpu.example.com, which did not answer in 45 s",
			write: func(s *casetest.Script) {
				claims(s, 0, 45*sec, trace.FaultDriverTimeout, "NodePrepareResources: rpc error: code = DeadlineExceeded")
				again(s, 45*sec, casetest.Open, on, "")
			}, now: 50 * sec,
		},
		{
			name: "an Event of another kubelet", current: true, cost: 19 * sec, want: "the kubelet could not prepare the pod's ResourceClaims: Failed to prepare dynamic resources: prepare dynamic resources: " + missing,
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "FailedPrepareDynamicResources", Message: "Failed to prepare dynamic resources: prepare dynamic resources: " + missing})
			}, now: 20 * sec,
		},
		{name: "not: quick", write: func(s *casetest.Script) {
			claims(s, 0, 5*ms, "", "")
			then(s, 5*ms)
		}},
		{name: "not: another Event", write: func(s *casetest.Script) {
			s.Point(sec, 0, &trace.NodeEvent{Type: trace.EventWarning, Reason: "FailedMount", Message: "no"})
		}, now: 20 * sec},
		{name: "not: the claim", write: func(s *casetest.Script) {
			s.Point(0, 0, &trace.ResourceClaim{Op: trace.ClaimNotPrepared, Namespace: "shop", Name: "gpu", Fault: trace.FaultUnallocated, Err: "not allocated"})
			again(s, 0, casetest.Open, trace.Target{Kind: trace.TargetResourceClaim, Namespace: "shop", Name: "gpu"}, "not allocated")
		}, now: 20 * sec},
	})
}

func TestResourceClaim(t *testing.T) {
	on := trace.Target{Kind: trace.TargetResourceClaim, Namespace: "shop", Name: "gpu"}
	var all []script
	for fault, want := range map[trace.ClaimFault]string{
		trace.FaultNotFound: "does not exist", trace.FaultUnallocated: "has no devices allocated", trace.FaultUnreserved: "is not reserved for the pod",
		trace.FaultNotOwned: "was made for another pod", trace.FaultReplaced: "has the name of an earlier claim", trace.FaultUnsupported: "needs something that the node does not support",
		trace.FaultUnpreparing: "is not unprepared yet for an earlier pod", trace.FaultAPI: "could not be read from the API server", trace.FaultState: "cannot be used",
	} {
		all = append(all, script{name: string(fault), current: true, cost: 20 * sec, want: "the pod waited 20.0s so far because ResourceClaim shop/gpu " + want, write: func(s *casetest.Script) {
			s.Point(0, 0, &trace.ResourceClaim{Op: trace.ClaimNotPrepared, Namespace: "shop", Name: "gpu", Fault: fault, Err: "no"})
			again(s, 0, casetest.Open, on, "no")
		}, now: 20 * sec})
	}
	all = append(all, script{
		name: "busy", cost: 3 * sec, want: "the pod waited 3.00s because ResourceClaim shop/gpu was being prepared or unprepared for another pod", write: func(s *casetest.Script) {
			a := s.Action(0, 3*sec, trace.Action{ID: "claims", Verb: trace.VerbClaims})
			s.Wait(0, 3*sec, a, trace.Wait{For: trace.WaitLock, Target: on})
			s.Action(3*sec, 5*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "claims")
			start(s, 5*sec, "sandbox")
		},
	})
	run(t, "KL45", append(all, script{name: "not: the driver", write: func(s *casetest.Script) {
		claims(s, 0, sec, trace.FaultDriverFailed, "no")
		again(s, sec, casetest.Open, trace.Target{Kind: trace.TargetDRADriver, Name: gpus}, "no")
	}, now: 20 * sec}, script{name: "not: quick", write: func(s *casetest.Script) {
		again(s, 0, 5*ms, on, "no")
		s.Action(5*ms, 2*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		start(s, 2*sec, "sandbox")
	}}))
}
