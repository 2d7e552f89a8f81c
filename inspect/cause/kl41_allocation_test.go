package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestCannotAllocate(t *testing.T) {
	refuse := func(s *casetest.Script, e trace.Allocation) {
		e.Manager, e.Outcome, e.Policy = trace.ManagerTopology, trace.AllocationRefused, "restricted"
		s.Point(20*ms, 0, &e)
		s.Point(21*ms, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: e.Code, Reason: e.Code + ": " + e.Err})
		s.Point(22*ms, 0, &trace.PodStatus{Phase: trace.PodFailed, Reason: e.Code, Message: e.Err, Total: 1})
	}
	affinity := trace.Allocation{
		Code: "TopologyAffinityError", Err: "Resources cannot be allocated with Topology locality", Scope: "container", Container: "web",
		Hints: []trace.ResourceHints{{Provider: "cpu", Resource: "cpu", Preferred: "0"}, {Provider: "memory", Resource: "memory", Preferred: "1", Possible: "0,1"}},
	}
	pod := affinity
	devices := trace.Allocation{Code: "UnexpectedAdmissionError", Container: "web", Err: "few", Hints: []trace.ResourceHints{{Provider: "device"}}}
	pod.Container, pod.Hints = "", nil
	run(t, "KL41", []script{
		{
			name: "affinity", current: true, now: sec,
			want:  "the node has no NUMA nodes that can give container web its cpu and memory as topologyManagerPolicy restricted requires (TopologyAffinityError)",
			write: func(s *casetest.Script) { refuse(s, affinity) },
		},
		{
			name: "of the pod", current: true, now: sec, want: "the node has no NUMA nodes that can give the pod its resources as topologyManagerPolicy restricted requires",
			write: func(s *casetest.Script) { refuse(s, pod) },
		},
		{
			name: "devices are KL42's", now: sec, want: "", write: func(s *casetest.Script) { refuse(s, devices) },
		},
		{
			name: "whole cores", current: true, now: sec,
			want: "the node cannot give container web whole cores (SMTAlignmentError): SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
			write: func(s *casetest.Script) {
				refuse(s, trace.Allocation{Code: "SMTAlignmentError", Container: "web", Err: "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"})
			},
		},
		{
			name: "unexpected", current: true, now: sec, want: "the cpu manager could not give container web what it requests (UnexpectedAdmissionError): Allocate failed",
			write: func(s *casetest.Script) {
				refuse(s, trace.Allocation{Code: "UnexpectedAdmissionError", Container: "web", Err: "Allocate failed due to x", Hints: []trace.ResourceHints{{Provider: "cpu"}}})
			},
		},
		{
			name: "nothing to share", current: true, now: sec,
			want: "the cpu manager has nothing for the containers of the pod that share (EmptyPodSharedPoolError): pod rejected, sum",
			write: func(s *casetest.Script) {
				refuse(s, trace.Allocation{Code: "EmptyPodSharedPoolError", Source: trace.SourcePod, Err: "pod rejected, sum of exclusive", Hints: []trace.ResourceHints{{Provider: "cpu"}}})
			},
		},
		{
			name: "nothing to share, with a strict policy", current: true, now: sec,
			want: "no NUMA nodes could ever give the pod its resources (TopologyAffinityError): pod rejected, sum",
			write: func(s *casetest.Script) {
				never := pod
				never.Hints = []trace.ResourceHints{{Provider: "cpu", Resource: "cpu", Err: "pod rejected, sum of exclusive"}, {Provider: "memory", Resource: "memory", Preferred: "1"}}
				refuse(s, never)
			},
		},
		{
			name: "not: granted", now: sec,
			write: func(s *casetest.Script) {
				s.Point(20*ms, 0, &trace.Allocation{Manager: trace.ManagerCPU, Outcome: trace.AllocationGranted, Container: "web", CPUs: "2-3"})
			},
		},
	})
	// What the managers themselves say is better than the verdict.
	run(t, "KL35", []script{
		{name: "not: the managers say why", now: sec, write: func(s *casetest.Script) { refuse(s, affinity) }},
	})
}
