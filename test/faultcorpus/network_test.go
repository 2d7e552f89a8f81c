package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

func networkFaults() []fault {
	const class = "network"
	return []fault{
		{
			name: "cni-slow", class: class, want: []string{"KL06"}, silent: []string{"KL07", "KL08", "KL14", "KL15"},
			does: "A plugin of the chain takes 3 s of a start of about 3.4 s.",
			make: func(s *scene) {
				s.plugin("3")
				s.set(s.pod("web"))
				s.ready("web")
			},
		},
		{
			name: "cni-small-part", class: class, want: []string{"KL21"}, silent: []string{"KL06", "KL07", "KL14", "KL15"},
			does: "The plugins take 0.1 s of a start of 45 s, most of which is an init container.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.InitContainers = []v1.Container{{Name: "migrate", Image: p.Spec.Containers[0].Image, Command: []string{"sleep", "45"}}}
				podspec.SetDefaults(p)
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "cni-hangs", class: class, want: []string{"KL06"}, silent: []string{"KL15", "KL14", "KL07"},
			does: "A plugin does not return; the sandbox is not there after 20 s.",
			make: func(s *scene) {
				s.plugin("hang")
				s.set(s.pod("web"))
				s.calls("web", "RunPodSandbox", trace.EdgeBegin)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "cni-fails", class: class, want: []string{"KL07"}, silent: []string{"KL06", "KL14", "KL15", "KL08"},
			does: "A plugin fails again and again: no address is left.",
			make: func(s *scene) {
				s.plugin("fail")
				s.set(s.pod("web"))
				s.waits("web", trace.WaitBackoff, 6)
			},
		},
		{
			name: "cni-failed-twice", class: class, want: []string{"KL07"}, silent: []string{"KL06", "KL14", "KL15", "KL08"},
			does: "A plugin fails twice, then the pod starts.",
			make: func(s *scene) {
				s.plugin("fail")
				s.set(s.pod("web"))
				s.waits("web", trace.WaitBackoff, 2)
				s.plugin("0")
				s.ready("web")
			},
		},
		{
			name: "cni-config-missing", class: class, want: []string{"KL07"}, silent: []string{"KL15", "KL16", "KL06"},
			does: "The network's configuration is gone, and the pod waits for it.",
			make: func(s *scene) {
				s.noNetwork()
				s.set(s.pod("web"))
				s.waits("web", trace.WaitRuntime, 1)
				s.lasts(12 * time.Second)
			},
		},
	}
}
