package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestCrashBackoff(t *testing.T) {
	up := func(s *casetest.Script) {
		start(s, 300*ms)
		s.Point(340*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	}
	crash := func(s *casetest.Script, at, until time.Duration) {
		s.Point(at, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "web"})
		s.Point(at, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Restarts: 1})
		s.Point(at, 0, &trace.Decision{
			By: trace.ByRestart, Subject: "web", Verdict: trace.VerdictWait, Reason: "it ended with exit code 3; crash-loop back-off until 12:00:15",
			ExitCode: new(int32(3)), Attempt: 1,
		})
		s.Wait(at, until, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
	}
	crashed := func(s *casetest.Script, at time.Duration, code int32) {
		s.Point(at, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "web"})
		s.Point(at, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Restarts: 1})
		s.Point(at, 0, &trace.Decision{By: trace.ByRestart, Subject: "web", Verdict: trace.VerdictWait, Reason: "it ended", ExitCode: new(code), Attempt: 1})
		s.Wait(at, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
	}
	run(t, "KL27", []script{
		{
			name: "goes on", want: "container web keeps exiting (exit code 3, attempt 1), and its restart has to wait: 4.00s so far in back-off", cost: 4 * sec, current: true, now: 9 * sec,
			write: func(s *casetest.Script) { up(s); crash(s, 5*sec, casetest.Open) },
		},
		{
			name: "again and again, never ready", want: "container web keeps exiting (exit code 3, attempt 1), and its restart has to wait: 14.0s so far in back-off", cost: 14 * sec, current: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				s.Milestone(300*ms, trace.MilestoneStarted)
				crash(s, 5*sec, 15*sec)
				crash(s, 16*sec, casetest.Open)
			},
		},
		{
			name: "an init container, while the path waits for it", want: "container migrate kept exiting (exit code 1, attempt 2), and its restart had to wait: 8.00s in back-off", cost: 8 * sec,
			write: func(s *casetest.Script) {
				s.Action(0, 100*ms, trace.Action{ID: "start migrate", Verb: trace.VerbStart, Container: "migrate"})
				s.Wait(100*ms, 10100*ms, 0, trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "migrate"}})
				s.Point(sec, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "migrate"})
				s.Point(sec, 0, &trace.Decision{By: trace.ByRestart, Subject: "migrate", Verdict: trace.VerdictWait, Reason: "it ended", ExitCode: new(int32(1)), Attempt: 2})
				s.Wait(sec, 9*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "migrate"}, Reason: "CrashLoopBackOff"})
				start(s, 10100*ms)
			},
		},
		{
			name: "it could not be started at first, and exits now", want: "container web keeps exiting (exit code 255 (out of range, or the program could not be executed), attempt 1), and its restart has to wait: 4.00s so far in back-off", cost: 4 * sec, current: true, now: 9 * sec,
			write: func(s *casetest.Script) {
				s.Action(0, 10*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web", Err: "exec format error", Class: trace.FailStartFormat})
				s.Action(20*ms, 30*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
				s.Started(30 * ms)
				crashed(s, 5*sec, 255)
			},
		},
		{
			name: "ended by its probe", now: 9 * sec, cost: 4 * sec, current: true,
			want: "container web is killed again and again because its liveness probe fails (connection refused), and its restart has to wait: 4.00s so far in back-off",
			write: func(s *casetest.Script) {
				up(s)
				s.Span(4900*ms, 4901*ms, 0, &trace.ProbeAttempt{
					Container: "web", ContainerID: "c1", Probe: trace.ProbeLiveness, Result: trace.ProbeFailure, Output: "connection refused", Count: 3, Threshold: 3, State: trace.ProbeDenies,
				})
				s.Point(4950*ms, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "web", Container: "c1"})
				s.Point(4950*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Restarts: 1})
				s.Point(5*sec, 0, &trace.Decision{
					By: trace.ByRestart, Subject: "web", Verdict: trace.VerdictWait, Reason: "its liveness probe failed; crash-loop back-off until 12:00:15",
					ExitCode: new(int32(0)), Attempt: 1,
				})
				s.Wait(5*sec, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
			},
		},
		{
			name: "completes, and should serve", now: 9 * sec, cost: 4 * sec, current: true,
			want:  "container web completes again and again (exit code 0, attempt 1), although it should serve, and its restart has to wait: 4.00s so far in back-off",
			write: func(s *casetest.Script) { up(s); crashed(s, 5*sec, 0) },
		},
		{
			name: "out of memory", now: 9 * sec, cost: 4 * sec, current: true,
			want: "container web keeps running out of memory (exit code 137 (SIGKILL), attempt 1), and its restart has to wait: 4.00s so far in back-off",
			write: func(s *casetest.Script) {
				up(s)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web"})
				crashed(s, 5*sec, 137)
			},
		},
		{
			name: "a child of another container was out of memory", now: 9 * sec, cost: 4 * sec, current: true, want: "container web keeps exiting (exit code 137 (SIGKILL), attempt 1)",
			write: func(s *casetest.Script) {
				up(s)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c2", Name: "other"})
				crashed(s, 5*sec, 137)
			},
		},
		{
			name: "a child was out of memory, and it exited by itself", now: 9 * sec, cost: 4 * sec, current: true, want: "container web keeps exiting (exit code 3, attempt 1)",
			write: func(s *casetest.Script) {
				up(s)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web"})
				crashed(s, 5*sec, 3)
			},
		},
		{
			name: "not its readiness probe", now: 9 * sec, cost: 4 * sec, current: true, want: "container web keeps exiting (exit code 3, attempt 1)",
			write: func(s *casetest.Script) {
				up(s)
				s.Span(4900*ms, 4901*ms, 0, &trace.ProbeAttempt{Container: "web", ContainerID: "c1", Probe: trace.ProbeReadiness, Result: trace.ProbeFailure, State: trace.ProbeDenies})
				s.Point(4950*ms, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "web", Container: "c1"})
				crash(s, 5*sec, casetest.Open)
			},
		},
		{
			name: "not: over, and up again",
			write: func(s *casetest.Script) {
				up(s)
				crash(s, 5*sec, 15*sec)
				s.Point(16*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
			},
		},
		{
			name: "not: restarted at once", now: 9 * sec,
			write: func(s *casetest.Script) {
				up(s)
				s.Point(5*sec, 0, &trace.Decision{By: trace.ByRestart, Subject: "web", Verdict: trace.VerdictRestart, Reason: "it ended with exit code 3"})
			},
		},
		{
			name: "found in the loop", found: true, want: "container web keeps exiting", cost: 4 * sec, current: true, now: 9 * sec,
			write: func(s *casetest.Script) { crash(s, 5*sec, casetest.Open) },
		},
	})
}

func TestStepped(t *testing.T) {
	run(t, "KL28", []script{
		{
			name: "two actions", want: "it waited 3.00s for the person who steps it, at 2 actions", cost: 3 * sec,
			write: func(s *casetest.Script) {
				w := trace.Wait{For: trace.WaitGate, Target: trace.Target{Kind: trace.TargetPerson}}
				s.Wait(0, sec, s.Action(0, 1100*ms, trace.Action{ID: "dirs", Verb: trace.VerbDirs}), w)
				s.Wait(1100*ms, 3100*ms, s.Action(1100*ms, 4*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}), w)
				start(s, 4*sec, "sandbox")
			},
		},
		{
			name: "not: everybody waits a little for the queue",
			write: func(s *casetest.Script) {
				s.Wait(0, sec, s.Action(0, 1100*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}), trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}})
				start(s, 1100*ms, "sandbox")
			},
		},
	})
}
