package tui

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

func TestHeader(t *testing.T) {
	now := tuitest.Epoch.Add(761 * time.Second)
	node := model.Node{
		Name: "lab-1", Runtime: "containerd", RuntimeVersion: "2.4.2", State: trace.AgentReady, Since: tuitest.Epoch,
		PLEGMode: "evented", LastLoop: now.Add(-300 * time.Millisecond),
	}
	for _, c := range []struct {
		name string
		w    int
		set  func(*status)
		want string
	}{
		{"wide", 120, func(*status) {}, "kubeloupe lab-1 · containerd 2.4.2 · up 12m41s                            loop ● 0.3s  PLEG evented  ▮▮▯  214 ev/s  LIVE"},
		{"80", 80, func(*status) {}, "lab-1 · containerd 2.4.2 · up 12m41s   loop ● 0.3s  PLEG evented  214 ev/s  LIVE"},
		{"60", 60, func(*status) {}, "lab-1 · containerd 2.4.2     loop ● 0.3s  PLEG evented  LIVE"},
		{"frozen", 80, func(s *status) { s.frozen, s.waiting = true, 1234 }, "lab-1 · containerd 2.4.2 · up 12m41s    loop ● 0.3s  PLEG evented  FROZEN +1,234"},
		{"lost", 80, func(s *status) { s.node.Lost = 77 }, "lab-1 · containerd 2.4.2             loop ● 0.3s  PLEG evented  dropped 77  LIVE"},
		{"simulated", 80, func(s *status) { s.node.Simulated = true }, "lab-1 · SIMULATED · containerd 2.4.2             loop ● 0.3s  PLEG evented  LIVE"},
		{"degraded", 80, func(s *status) { s.node.State, s.node.Reason = trace.AgentDegraded, "runtime is down" }, "lab-1 · containerd 2.4.2 · degraded: runtime is down           loop ● 0.3s  LIVE"},
		{"shutting down", 80, func(s *status) { s.node.Shutdown = model.Shutdown{Since: now, Group: 1, Groups: 2} }, "lab-1 · containerd 2.4.2 · SHUTTING DOWN group 1 of 2          loop ● 0.3s  LIVE"},
		{"shut down", 60, func(s *status) { s.node.Shutdown = model.Shutdown{Since: now, Group: 2, Groups: 2, Released: true} }, "lab-1 · containerd 2.4.2 · SHUTTING DOWN   loop ● 0.3s  LIVE"},
		{"stuck", 80, func(s *status) { s.turning = model.Loop{N: 7, Begin: now.Add(-12 * time.Second)} }, "lab-1 · containerd 2.4.2 · up 12m41s         loop busy 12.0s  PLEG evented  LIVE"},
		{"no API", 80, func(s *status) { s.api = model.API{Failing: 3, Since: now.Add(-42 * time.Second)} }, "lab-1 · containerd 2.4.2      loop ● 0.3s  PLEG evented  API failing 42.0s  LIVE"},
		{"unknown", 80, func(s *status) { s.node, s.rate = model.Node{}, 0 }, "kubeloupe                                                      ▯▯▯  0 ev/s  LIVE"},
		{"ended", 80, func(s *status) { s.ended = "EOF" }, "lab-1 · containerd 2.4.2 · up 12m41s  loop ● 0.3s  PLEG evented  214 ev/s  ENDED"},
		{"attached", 120, func(s *status) { s.label = "ATTACHED TO kubelet 741 (log V2, containerd log)" }, "lab-1 · containerd 2.4.2 · up 12m41s         loop ● 0.3s  PLEG evented  ATTACHED TO kubelet 741 (log V2, containerd log)"},
		{"attached, 80", 80, func(s *status) { s.label = "RAISED V2→V4 until 12:03:11 (ATTACHED TO kubelet 741 (log V2))" }, "lab-1 · containerd 2.4.2                loop ● 0.3s  RAISED V2→V4 until 12:03:11"},
		{"a log", 80, func(s *status) { s.node, s.label = model.Node{}, "FILE kubelet log V2, runtime log" }, "kubeloupe                        ▮▮▯  214 ev/s  FILE kubelet log V2, runtime log"},
		{"narrow", 12, func(s *status) { s.frozen, s.node.Simulated = true, true }, "FROZEN +0   "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := status{node: node, now: now, rate: 214}
			c.set(&s)
			got := sgr.ReplaceAllString(header(style.New(false), s, c.w), "")
			if n := fit.Width(got); n > c.w {
				t.Errorf("%d columns, want at most %d: %q", n, c.w, got)
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
