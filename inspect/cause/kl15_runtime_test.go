package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// node is the zero pod: what is the node's.
func node() trace.Pod { return trace.Pod{} }

func TestStalledRuntime(t *testing.T) {
	sandbox := func(s *casetest.Script, from, to time.Duration) trace.SpanID {
		return s.Action(from, to, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	}
	run(t, "KL15", []script{
		{
			name: "a call that ran into its deadline", want: "the container runtime did not answer or report in time, which delayed the pod for 2m00s: RunPodSandbox ended with DeadlineExceeded", cost: 2 * time.Minute,
			write: func(s *casetest.Script) {
				act := sandbox(s, 0, 2*time.Minute)
				s.Span(0, 2*time.Minute, act, &trace.CRICall{Method: "RunPodSandbox", Code: "DeadlineExceeded", Err: "context deadline exceeded"})
				again := sandbox(s, 2*time.Minute, 2*time.Minute+sec)
				s.Call(2*time.Minute, 2*time.Minute+sec, again, "RunPodSandbox", "")
				start(s, 2*time.Minute+sec, "sandbox")
			},
		},
		{
			name: "it answers nobody", want: "the container runtime did not answer or report in time, which delayed the pod for 9.00s so far: ListContainers took 9.00s so far", cost: 9 * sec, current: true,
			now: 12 * sec,
			write: func(s *casetest.Script) {
				s.Call(0, casetest.Open, sandbox(s, 0, casetest.Open), "RunPodSandbox", "")
				s.Of(node(), 3*sec, casetest.Open, 0, &trace.CRICall{Method: "ListContainers"})
			},
		},
		{
			name: "another call is late, and others are answered meanwhile", want: "the container runtime did not answer or report in time, which delayed the pod for 4.00s: ListContainers took 4.00s", cost: 4 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Call(0, 5*sec, sandbox(s, 0, 5*sec), "RunPodSandbox", "")
				s.Of(node(), sec, 5*sec, 0, &trace.CRICall{Method: "ListContainers"})
				s.Of(node(), 2*sec, 2100*ms, 0, &trace.CRICall{Method: "CreateContainer"})
				start(s, 5*sec)
			},
		},
		{
			name: "a relist that fails while the pod is not told", want: "the container runtime did not answer or report in time, which delayed the pod for 1.00s: a relist (stream-error) took 1.00s and failed: list sandboxes: refused", cost: sec,
			write: func(s *casetest.Script) {
				sandbox(s, 0, sec)
				s.Wait(sec, 2*sec, 0, trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}})
				s.Of(node(), sec, 2*sec, 0, &trace.PLEGRelist{Cause: "stream-error", Err: "list sandboxes: refused"})
				start(s, 2*sec)
			},
		},
		{
			name: "it cannot be stopped", want: "the container runtime did not answer or report in time, which delayed the pod for 5.00s", cost: 5 * sec, found: true, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Milestone(10*sec, trace.MilestoneTerminating)
				s.Of(node(), 12*sec, 17*sec, 0, &trace.PLEGRelist{Cause: "period"})
				s.Milestone(20*sec, trace.MilestoneGone)
			},
		},
		{
			name: "it tells late", want: "the container runtime did not answer or report in time, which delayed the pod for 200ms: it waited for the runtime's event about the latest action", cost: 200 * ms,
			write: func(s *casetest.Script) {
				sandbox(s, 0, sec)
				s.Wait(sec, sec+200*ms, 0, trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}})
				start(s, sec+200*ms)
			},
		},
		{
			name: "not: it tells after a moment",
			write: func(s *casetest.Script) {
				sandbox(s, 0, sec)
				s.Wait(sec, sec+90*ms, 0, trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}})
				start(s, sec+90*ms)
			},
		},
		{
			name: "not: RunPodSandbox takes long (KL06 may say why)",
			write: func(s *casetest.Script) {
				s.Call(0, 20*sec, sandbox(s, 0, 20*sec), "RunPodSandbox", "")
				s.Of(node(), 3*sec, 3*sec+5*ms, 0, &trace.CRICall{Method: "ListContainers", Code: "OK"})
				start(s, 20*sec, "sandbox")
			},
		},
		{
			name: "not: a stall while the image came",
			write: func(s *casetest.Script) {
				s.Call(0, 20*sec, s.Action(0, 20*sec, trace.Action{ID: "image a", Verb: trace.VerbImage}), "PullImage", "")
				s.Of(node(), 3*sec, 6*sec, 0, &trace.CRICall{Method: "ListContainers", Code: "OK"})
				start(s, 20*sec, "image a")
			},
		},
		{
			name: "not: a stall after the pod was up",
			write: func(s *casetest.Script) {
				s.Call(0, sec, sandbox(s, 0, sec), "RunPodSandbox", "")
				start(s, sec, "sandbox")
				s.Of(node(), 3*sec, 9*sec, 0, &trace.PLEGRelist{Cause: "period", Err: "refused"})
			},
		},
		{
			name: "not: a call that failed for a reason",
			write: func(s *casetest.Script) {
				s.Call(0, 3*sec, sandbox(s, 0, 3*sec), "RunPodSandbox", "no such handler")
				s.Call(3*sec, 4*sec, sandbox(s, 3*sec, 4*sec), "RunPodSandbox", "")
				start(s, 4*sec, "sandbox")
			},
		},
	})
}
