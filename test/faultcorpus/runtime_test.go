package faultcorpus_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// signal sends a signal to a process.
func (s *scene) signal(pid int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.t.Fatal(err)
	}
}

// paused stops containerd until the case ends, or resume is called.
func (s *scene) paused() (resume func()) {
	pid := s.ContainerdPID()
	s.signal(pid, syscall.SIGSTOP)
	resume = func() { s.signal(pid, syscall.SIGCONT) }
	s.t.Cleanup(resume)
	return resume
}

// down ends containerd for a while. between is called while it is down.
func (s *scene) down(between func()) {
	s.t.Helper()
	if err := s.RestartContainerd(s.t.Context(), syscall.SIGKILL, between); err != nil {
		s.t.Fatal(err)
	}
}

// shims are the processes that keep the containers of pods.
func (s *scene) shims() (pids []int) {
	s.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range dirs {
		text, err := os.ReadFile(d)
		if err == nil && strings.Contains(string(text), "containerd-shim") && strings.Contains(string(text), s.Dir) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(d)))
			if err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) == 0 {
		s.t.Fatal("no shim of the laboratory runs")
	}
	return pids
}

func runtimeFaults() []fault {
	const class = "runtime"
	return []fault{
		{
			name: "runtime-down", class: class, want: []string{"KL15"}, silent: []string{"KL07", "KL06", "KL16"},
			does: "Containerd is down when the pod comes, and comes back after 15 s. The network is in order.",
			make: func(s *scene) {
				s.down(func() {
					time.Sleep(2 * time.Second) // the agent notices
					s.set(s.pod("web"))
					time.Sleep(15 * time.Second)
				})
				s.reached("web", trace.MilestoneReady)
			},
		},
		{
			name: "runtime-down-still", class: class, want: []string{"KL15"}, silent: []string{"KL07", "KL06", "KL16"},
			does: "Containerd is down when the pod comes, and stays down.",
			make: func(s *scene) {
				hold := make(chan struct{})
				ended := make(chan struct{})
				gone := make(chan struct{})
				go func() {
					defer close(ended)
					s.down(func() { close(gone); <-hold })
				}()
				s.t.Cleanup(func() { close(hold); <-ended })
				<-gone
				s.set(s.pod("web"))
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "runtime-hung", class: class, want: []string{"KL15"}, may: []string{"KL06"}, silent: []string{"KL07", "KL14", "KL16"},
			does: "Containerd is stopped by a signal for 20 s while it makes the sandbox, in which a plugin takes 1 s.",
			make: func(s *scene) {
				s.plugin("1")
				s.set(s.pod("web"))
				s.calls("web", "RunPodSandbox", trace.EdgeBegin)
				resume := s.paused()
				s.lasts(20 * time.Second)
				resume()
				s.reached("web", trace.MilestoneReady)
				s.lasts(2 * time.Second)
			},
		},
		{
			name: "runtime-restarted", class: class, silent: []string{"KL07", "KL14", "KL15", "KL16", "KL27"},
			does: "Containerd restarted before the pod came; the pod starts as usual.",
			make: func(s *scene) {
				s.set(s.pod("other"))
				s.ready("other")
				s.down(func() {})
				s.lasts(5 * time.Second)
				s.set(s.pod("other"), s.pod("web"))
				s.reached("web", trace.MilestoneReady)
				s.lasts(2 * time.Second)
			},
		},
	}
}
