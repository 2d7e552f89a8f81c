package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// ended adds a status in which web waits for its restart after an exit.
func ended(s *casetest.Script, at time.Duration, phase trace.PodPhase, c trace.ContainerStatus) {
	c.Name = "web"
	s.Point(at, 0, &trace.PodStatus{Phase: phase, Total: 1, Restarts: c.Restarts, Containers: []trace.ContainerStatus{c}})
}

func waitsFor(reason string, restarts int, last trace.ContainerExit) trace.ContainerStatus {
	return trace.ContainerStatus{State: trace.ContainerWaiting, Reason: reason, Restarts: restarts, Last: &last}
}

func exitedWith(code int32) trace.ContainerStatus {
	return trace.ContainerStatus{State: trace.ContainerTerminated, Reason: "Error", ExitCode: code, ID: "c1"}
}

// running adds a status in which web runs.
func running(s *casetest.Script, id string) {
	s.Point(4500*ms, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, Containers: []trace.ContainerStatus{{Name: "web", State: trace.ContainerRunning, ID: id}}})
}

// childKilled adds a kill that the kernel log names.
func childKilled(s *casetest.Script) {
	s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web", Process: "worker", PID: 99, RSS: 20 << 20, Constraint: trace.OOMMemcg})
}

func TestOutOfMemory(t *testing.T) {
	killed := trace.ContainerExit{Reason: "OOMKilled", ExitCode: 137, ID: "c1"}
	run(t, "KL32", []script{
		{
			name: "in back-off", now: 9 * sec, cost: 4 * sec, current: true, want: "container web was killed because it was out of memory (OOMKilled, exit code 137), once: no record has a memory limit",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web"})
				ended(s, 5*sec, trace.PodRunning, waitsFor("CrashLoopBackOff", 1, killed))
			},
		},
		{
			name: "runs again", want: "container web was killed because it was out of memory (OOMKilled, exit code 137), once",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(6*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1, Restarts: 1, Containers: []trace.ContainerStatus{{
					Name: "web", State: trace.ContainerRunning, Restarts: 1, Last: &killed,
				}}})
			},
		},
		{
			name: "not: SIGKILL by somebody else", now: 9 * sec,
			write: func(s *casetest.Script) { start(s, 300*ms); ended(s, 5*sec, trace.PodFailed, exitedWith(137)) },
		},
		{
			name: "not: a child alone", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web"})
			},
		},
		{
			name: "the kernel log names the process", now: 9 * sec, cost: 4 * sec, current: true,
			want: "container web was killed because it was out of memory (OOMKilled, exit code 137), once: the kernel killed process java (pid 4711, 20 MiB); no record has a memory limit",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web", Process: "java", PID: 4711, RSS: 20 << 20, Constraint: trace.OOMMemcg})
				ended(s, 5*sec, trace.PodRunning, waitsFor("CrashLoopBackOff", 1, killed))
			},
		},
		{
			name: "the node had no free memory", now: 9 * sec, cost: 4 * sec, current: true,
			want: "container web was killed because it was out of memory (OOMKilled, exit code 137), once: the kernel killed process java (pid 4711); the node had no free memory",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Point(4900*ms, 0, &trace.OOMKill{Container: "c1", Name: "web", Process: "java", PID: 4711, Constraint: trace.OOMSystem})
				ended(s, 5*sec, trace.PodRunning, waitsFor("CrashLoopBackOff", 1, killed))
			},
		},
		{
			name: "a child alone, by the kernel log", now: 9 * sec,
			want: "the kernel killed process worker (pid 99, 20 MiB) of container web because it was out of memory, twice; the container itself continues: no record has a memory limit",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				running(s, "containerd://c1")
				childKilled(s)
				childKilled(s)
			},
		},
		{
			name: "not: its exit may follow", now: 6 * sec,
			write: func(s *casetest.Script) { start(s, 300*ms); running(s, "containerd://c1"); childKilled(s) },
		},
		{
			name: "not: it was restarted since", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				running(s, "containerd://c1")
				childKilled(s)
				running(s, "containerd://c2")
			},
		},
		{
			name: "not: it exited", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				childKilled(s)
				ended(s, 6*sec, trace.PodFailed, exitedWith(1))
			},
		},
	})
}

func TestExited(t *testing.T) {
	run(t, "KL33", []script{
		{
			name: "failed", now: 9 * sec, cost: 4 * sec, current: true, want: "container web exited with exit code 139 (SIGSEGV, a bad memory access)",
			write: func(s *casetest.Script) { start(s, 300*ms); ended(s, 5*sec, trace.PodFailed, exitedWith(139)) },
		},
		{
			name: "completed, and should serve", now: 9 * sec, cost: 4 * sec, current: true, want: "container web has completed (exit code 0), and restartPolicy Always restarts it",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				ended(s, 5*sec, trace.PodRunning, trace.ContainerStatus{State: trace.ContainerTerminated, Reason: "Completed"})
			},
		},
		{
			name: "not: in crash-loop back-off", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				ended(s, 5*sec, trace.PodRunning, waitsFor("CrashLoopBackOff", 1, trace.ContainerExit{Reason: "Error", ExitCode: 3}))
				s.Wait(5*sec, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
			},
		},
		{
			name: "not: its back-off is over, and it does not run yet", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				ended(s, 5*sec, trace.PodRunning, waitsFor("CrashLoopBackOff", 1, trace.ContainerExit{Reason: "Completed"}))
				s.Wait(5*sec, 8900*ms, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
			},
		},
		{
			name: "completed since its back-off", now: 9 * sec, cost: sec, current: true, want: "container web has completed (exit code 0), and restartPolicy Always restarts it",
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Wait(2*sec, 4*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
				ended(s, 8*sec, trace.PodRunning, trace.ContainerStatus{State: trace.ContainerTerminated, Reason: "Completed"})
			},
		},
		{
			name: "not: a Job's pod that succeeded", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				ended(s, 5*sec, trace.PodSucceeded, trace.ContainerStatus{State: trace.ContainerTerminated, Reason: "Completed"})
			},
		},
		{
			name: "not: while the pod ends", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				s.Milestone(4*sec, trace.MilestoneTerminating)
				ended(s, 5*sec, trace.PodRunning, exitedWith(143))
			},
		},
		{
			name: "not: its image is missing after a restart", now: 9 * sec,
			write: func(s *casetest.Script) {
				start(s, 300*ms)
				ended(s, 5*sec, trace.PodRunning, waitsFor("ImagePullBackOff", 1, trace.ContainerExit{Reason: "Error", ExitCode: 3}))
			},
		},
	})
}
