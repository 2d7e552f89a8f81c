package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestSurprise(t *testing.T) {
	const image = "docker.io/library/nginx:latest"
	gc := func(verdict string) *trace.Decision {
		return &trace.Decision{By: trace.ByImageGC, Subject: image, Verdict: trace.Verdict(verdict), Reason: "the file system is 91% full and has to come down to 80%"}
	}
	pull := func(s *casetest.Script) {
		act := s.Action(2*sec, 6*sec, trace.Action{ID: "image nginx", Verb: trace.VerbImage, Target: "nginx"})
		s.Span(2*sec, 6*sec, act, &trace.ImagePull{Image: "nginx"})
		start(s, 6*sec, "image nginx")
	}
	run(t, "KL22", []script{
		{
			name: "garbage collection", want: "image garbage collection removed nginx", cost: 4 * sec,
			write: func(s *casetest.Script) { s.PointOf(node(), sec, 0, gc("remove")); pull(s) },
		},
		{
			name: "preemption", want: "the node terminated the pod (preemption): it gives way to kube-system/dns", cost: 3 * sec, found: true,
			write: func(s *casetest.Script) {
				s.Point(9*sec, 0, &trace.Decision{By: trace.ByPreemption, Subject: "shop/web", Verdict: trace.VerdictEnd, Reason: "it gives way to kube-system/dns, which is critical"})
				s.Milestone(9*sec, trace.MilestoneTerminating)
				s.Milestone(12*sec, trace.MilestoneGone)
			},
		},
		{
			name: "eviction", want: "the node was short of memory (below 100 MiB free) and evicted this pod first", cost: 3 * sec, found: true,
			write: func(s *casetest.Script) {
				s.Point(9*sec, 0, &trace.Decision{By: trace.ByEviction, Subject: "shop/web", Verdict: trace.VerdictEnd, Code: "Evicted", Signal: trace.SignalMemory, Limit: 100 << 20, Inputs: []trace.KV{{K: "usage", V: "900 MiB"}}})
				s.Milestone(9*sec, trace.MilestoneTerminating)
				s.Milestone(12*sec, trace.MilestoneGone)
			},
		},
		{
			name: "a limit of its own", want: "the node evicted the pod: an emptyDir volume holds more than its sizeLimit allows (10 MiB)", cost: 3 * sec, found: true,
			write: func(s *casetest.Script) {
				s.Point(9*sec, 0, &trace.Decision{By: trace.ByEviction, Subject: "shop/web", Verdict: trace.VerdictEnd, Code: "Evicted", Signal: trace.SignalEmptyDirLimit, Limit: 10 << 20})
				s.Milestone(9*sec, trace.MilestoneTerminating)
				s.Milestone(12*sec, trace.MilestoneGone)
			},
		},
		{name: "not: it was kept", write: func(s *casetest.Script) { s.PointOf(node(), sec, 0, gc("keep")); pull(s) }},
		{name: "not: it was removed later", write: func(s *casetest.Script) { s.PointOf(node(), 9*sec, 0, gc("remove")); pull(s) }},
		{
			name: "not: another image",
			write: func(s *casetest.Script) {
				d := gc("remove")
				d.Subject = "docker.io/library/nginx:1.25"
				s.PointOf(node(), sec, 0, d)
				pull(s)
			},
		},
		{
			name: "not: it had come back meanwhile",
			write: func(s *casetest.Script) {
				s.PointOf(node(), sec, 0, gc("remove"))
				s.Of(casetest.DB, 1100*ms, 1900*ms, 0, &trace.ImagePull{Image: "nginx:latest"})
				pull(s)
			},
		},
		{
			name: "not: another pod gave way", found: true,
			write: func(s *casetest.Script) {
				s.PointOf(casetest.DB, 9*sec, 0, &trace.Decision{By: trace.ByPreemption, Subject: "shop/db", Verdict: trace.VerdictEnd, Reason: "it gives way to shop/web"})
				s.Milestone(9*sec, trace.MilestoneTerminating)
			},
		},
	})
}
