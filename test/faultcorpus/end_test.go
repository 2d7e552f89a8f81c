package faultcorpus_test

import (
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func endFaults() []fault {
	const class = "end"
	return []fault{
		{
			name: "end-ignores-term", class: class, want: []string{"KL17"}, silent: []string{"KL15", "KL16"},
			does: "The container ignores SIGTERM, and its grace period is 8 s.",
			make: func(s *scene) {
				p := s.runs("web", "trap '' TERM; while :; do sleep 1; done")
				p.Spec.TerminationGracePeriodSeconds = new(int64(8))
				s.set(p)
				s.ready("web")
				s.set()
				s.reached("web", trace.MilestoneGone)
			},
		},
		{
			name: "end-polite", class: class, silent: []string{"KL17", "KL15", "KL16"},
			does: "The container exits at SIGTERM; its grace period is 30 s.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.TerminationGracePeriodSeconds = new(int64(30))
				s.set(p)
				s.ready("web")
				s.set()
				s.reached("web", trace.MilestoneGone)
			},
		},
		{
			name: "end-stop-fails", class: class, want: []string{"KL17"}, may: []string{"KL15"}, silent: []string{"KL07", "KL16"},
			does: "The shim does not answer: StopContainer does not return in its deadline. The container would exit at SIGTERM.",
			make: func(s *scene) {
				p := s.pod("web")
				s.set(p)
				s.ready("web")
				pids := s.shims()
				for _, pid := range pids {
					s.signal(pid, syscall.SIGSTOP)
				}
				s.t.Cleanup(func() {
					for _, pid := range pids {
						_ = syscall.Kill(pid, syscall.SIGCONT)
					}
				})
				s.set()
				s.calls("web", "StopContainer", trace.EdgeBegin)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "agent-restart-running", class: class, silent: []string{"KL15", "KL16", "KL17", "KL14"},
			does: "The agent restarts while a pod runs.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.ready("web")
				s.restart()
				s.lasts(5 * time.Second)
			},
		},
	}
}
