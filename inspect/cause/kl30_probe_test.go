package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// asked adds an attempt of a probe of web.
func asked(s *casetest.Script, at time.Duration, a trace.ProbeAttempt) {
	a.Container = "web"
	s.Span(at, at+ms, 0, &a)
}

// refusedOnce is an attempt that failed, the nth of 3.
func refusedOnce(kind trace.ProbeKind, n int, id string) trace.ProbeAttempt {
	return trace.ProbeAttempt{
		ContainerID: id, Probe: kind, Result: trace.ProbeFailure, Answer: trace.AnswerRefused, Output: "dial tcp 10.0.0.1:80: connect: connection refused",
		Count: n, Threshold: 3, State: trace.ProbeDenies,
	}
}

func TestFailingProbe(t *testing.T) {
	starting := func(s *casetest.Script) {
		s.Milestone(300*ms, trace.MilestoneStarted)
		s.Point(310*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1})
	}
	run(t, "KL30", []script{
		{
			name: "readiness, refused", now: 9 * sec, cost: 8 * sec, current: true,
			want: "the readiness probe of web fails, 3 times in a row, and the pod is not ready: the connection is refused",
			write: func(s *casetest.Script) {
				starting(s)
				for i := range 3 {
					asked(s, time.Duration(i+1)*sec, refusedOnce(trace.ProbeReadiness, i+1, "c1"))
				}
			},
		},
		{
			name: "readiness, HTTP status, ready before", now: 9 * sec, cost: 4 * sec, current: true,
			want: "the readiness probe of web fails, once in a row, and the pod is not ready: the app answers with HTTP status 503",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(340*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
				asked(s, 5*sec, trace.ProbeAttempt{Probe: trace.ProbeReadiness, Result: trace.ProbeFailure, Answer: trace.AnswerStatus, Code: 503, Count: 1, Threshold: 1, State: trace.ProbeDenies})
				s.Point(5010*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1})
			},
		},
		{
			name: "cannot be made", now: 9 * sec, cost: 8 * sec, current: true, want: "the readiness probe of web fails, 3 times in a row, and the pod is not ready: it cannot be made",
			write: func(s *casetest.Script) {
				starting(s)
				for i := range 3 {
					asked(s, time.Duration(i+1)*sec, trace.ProbeAttempt{Probe: trace.ProbeReadiness, Result: trace.ProbeError, Class: trace.FailStartMissing, Output: "no such program", State: trace.ProbeDenies})
				}
			},
		},
		{
			name: "a kubelet's log, without counts", now: 9 * sec, cost: 8 * sec, current: true, want: "the readiness probe of web fails, 3 times in a row, and the pod is not ready: no answer within its timeout",
			write: func(s *casetest.Script) {
				starting(s)
				for i := range 3 {
					asked(s, time.Duration(i+1)*sec, trace.ProbeAttempt{Probe: trace.ProbeReadiness, Result: trace.ProbeFailure, TimedOut: true, Output: "context deadline exceeded"})
				}
			},
		},
		{
			name: "liveness restarts it", now: 9 * sec, cost: 4 * sec, current: true,
			want: "the liveness probe of web fails, 3 times in a row, and the kubelet restarts the container because of it (once so far): the connection is refused",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(340*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
				asked(s, 5*sec, refusedOnce(trace.ProbeLiveness, 3, "c1"))
				s.Point(5100*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Restarts: 1})
			},
		},
		{
			name: "liveness restarted it, and it is up again", want: "the liveness probe of web fails, 3 times in a row, and the kubelet restarts the container because of it (once so far)",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				asked(s, 5*sec, refusedOnce(trace.ProbeLiveness, 3, "c1"))
				s.Point(5100*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Restarts: 1})
				s.Point(7*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, Restarts: 1})
			},
		},
		{
			name: "not: failed once and then succeeded", now: 9 * sec,
			write: func(s *casetest.Script) {
				starting(s)
				asked(s, sec, refusedOnce(trace.ProbeReadiness, 1, "c1"))
				asked(s, 2*sec, trace.ProbeAttempt{ContainerID: "c1", Probe: trace.ProbeReadiness, Result: trace.ProbeSuccess, Count: 1, Threshold: 1, State: trace.ProbeSays})
				s.Milestone(2010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "not: below the threshold", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				asked(s, 5*sec, refusedOnce(trace.ProbeLiveness, 2, "c1"))
			},
		},
		{
			name: "not: early attempts do not count", now: 9 * sec,
			write: func(s *casetest.Script) {
				starting(s)
				for i := range 6 {
					a := refusedOnce(trace.ProbeReadiness, 0, "c1")
					a.Early, a.Threshold = true, 0
					asked(s, time.Duration(i+1)*sec, a)
				}
			},
		},
		{
			name: "not: while it ends", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Milestone(4*sec, trace.MilestoneTerminating)
				for i := range 3 {
					asked(s, time.Duration(i+5)*sec, refusedOnce(trace.ProbeReadiness, i+1, "c1"))
				}
			},
		},
	})
}
