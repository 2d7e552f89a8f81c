package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestNodeShutdown(t *testing.T) {
	ended := func(s *casetest.Script) {
		s.Point(9*sec, 0, &trace.Decision{
			By: trace.ByShutdown, Subject: "shop/web", Verdict: trace.VerdictEnd, Code: "Terminated", Reason: "the node is shutting down", Inputs: []trace.KV{{K: "grace", V: "20s"}},
		})
		s.Milestone(9*sec, trace.MilestoneTerminating)
		s.Milestone(12*sec, trace.MilestoneGone)
	}
	failed := func(reason, message string) func(*casetest.Script) {
		return func(s *casetest.Script) {
			s.Point(9*sec, 0, &trace.PodStatus{Phase: trace.PodFailed, Reason: reason, Message: message})
		}
	}
	run(t, "KL43", []script{
		{name: "terminated", want: "the kubelet terminated the pod because the machine was about to shut down", cost: 3 * sec, found: true, write: ended},
		{
			name: "not in time", want: "the kubelet terminated the pod because the machine was about to shut down; the pod had not terminated when the 2 s of its priority were over", cost: 3 * sec, found: true,
			write: func(s *casetest.Script) {
				ended(s)
				s.Of(node(), 9*sec, 11*sec, 0, &trace.Shutdown{State: trace.ShutdownGroup, Group: 1, Groups: 2, Grace: 2, Pods: []string{"shop/db", "shop/web"}, Overran: []string{"shop/web"}})
			},
		},
		{
			name: "rejected", want: "the kubelet rejected the pod (NodeShutdown): the machine was about to shut down", found: true, current: true,
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "NodeShutdown", Reason: "NodeShutdown: Pod was rejected as the node is shutting down."})
			},
		},
		{name: "rejected, by the status", want: "the kubelet rejected the pod (NodeShutdown)", found: true, current: true, write: failed("NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down.")},
		{name: "terminated, by the status", want: "the kubelet terminated the pod because", found: true, write: failed("Terminated", "Pod was terminated in response to imminent node shutdown.")},
		{
			name: "not: it runs", found: true,
			write: func(s *casetest.Script) {
				s.Point(9*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Reason: "Terminated"})
			},
		},
		{name: "not: evicted", found: true, write: failed("Evicted", "The node was low on resource: memory.")},
		{
			name: "not: rejected for something else", found: true,
			write: func(s *casetest.Script) {
				s.Point(sec, 0, &trace.Decision{By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "NodePorts", Reason: "NodePorts: taken"})
			},
		},
	})
}
