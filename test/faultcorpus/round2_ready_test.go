package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// beside adds a container that runs a script to a pod.
func beside(p *v1.Pod, script string, probe *v1.Probe) *v1.Pod {
	c := *p.Spec.Containers[0].DeepCopy()
	c.Name, c.Command, c.ReadinessProbe = "second", []string{"sh", "-c", script}, probe
	p.Spec.Containers = append(p.Spec.Containers, c)
	podspec.SetDefaults(p)
	return p
}

func readyAgain() []fault {
	return []fault{
		{
			name: "r2-readiness-gate", class: workload, want: []string{"KL39"}, silent: allBut("KL39"), // KL39 did not exist in the first judgement
			does: "The pod has a readiness gate whose condition nobody sets; its container runs, and its probe succeeds.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].ReadinessProbe = execProbe("true")
				p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "shop.example/in-rotation"}}
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "r2-second-slow", class: workload, may: []string{"KL30"}, silent: allBut("KL30"),
			does: "Of two containers, the program of the second needs 12 s until it is ready; the probe asks each second.",
			make: func(s *scene) {
				s.set(beside(s.pod("web"), run("sleep 12; touch /tmp/up"), execProbe("test -e /tmp/up")))
				s.ready("web")
			},
		},
		{
			name: "r2-second-delayed", class: workload, want: []string{"KL19"}, silent: []string{"KL15", "KL20", "KL21", "KL27", "KL30", "KL33"},
			does: "Of two containers, which are up at once, the second one's first probe comes after initialDelaySeconds, 9 s.",
			make: func(s *scene) {
				probe := execProbe("true")
				probe.InitialDelaySeconds = 9
				s.set(beside(s.pod("web"), run("true"), probe))
				s.ready("web")
			},
		},
	}
}
