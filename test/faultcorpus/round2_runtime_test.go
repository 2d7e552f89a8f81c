package faultcorpus_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

func runtimeAgain() []fault {
	const class = "runtime"
	return []fault{
		{
			name: "r2-stopped-4s", class: class, want: []string{"KL15"}, silent: []string{"KL06", "KL07", "KL08", "KL14", "KL16", "KL38"},
			does: "Containerd is stopped by a signal for 4 s while it makes the sandbox.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.calls("web", "RunPodSandbox", trace.EdgeBegin)
				resume := s.paused()
				s.lasts(4 * time.Second)
				resume()
				s.ready("web")
				s.lasts(2 * time.Second)
			},
		},
		{
			name: "r2-stopped-later", class: class, silent: allBut(),
			does: "Containerd is stopped by a signal for 4 s when the pod has long been ready.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.ready("web")
				s.lasts(3 * time.Second)
				resume := s.paused()
				s.lasts(4 * time.Second)
				resume()
				s.lasts(5 * time.Second)
			},
		},
		{
			name: "r2-crowd", class: class, want: []string{"KL26"}, may: []string{"KL06"},
			silent: []string{"KL01", "KL07", "KL14", "KL15", "KL16", "KL29"},
			does:   "Sixteen pods come at once, and this one is the last of them.",
			make: func(s *scene) {
				var pods []*v1.Pod
				for n := range 15 {
					pods = append(pods, s.pod(fmt.Sprintf("other-%02d", n)))
				}
				s.set(pods...)
				for _, p := range pods {
					s.reached(p.Name, trace.MilestoneSeen)
				}
				s.set(append(pods, s.pod("web"))...)
				s.ready("web")
			},
		},
		{
			name: "r2-busy-neighbor", class: class, may: []string{"KL23"}, silent: allBut(),
			does: "Another pod keeps the processors busy; this one starts in a second or two.",
			make: func(s *scene) {
				busy := s.runs("busy", "trap 'exit 0' TERM; for n in 1 2 3 4; do (while :; do :; done) & done; wait")
				s.set(busy)
				s.ready("busy")
				s.lasts(5 * time.Second)
				s.set(busy, s.pod("web"))
				s.ready("web")
			},
		},
	}
}
