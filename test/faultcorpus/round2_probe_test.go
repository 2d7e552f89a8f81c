package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

func probeAgain() []fault {
	return []fault{
		{
			name: "r2-probe-below-timeout", class: workload, silent: allBut(),
			does: "The app takes 2 s for each answer to its probes, which wait for 3 s.",
			make: func(s *scene) {
				p := s.http()
				for _, to := range []**v1.Probe{&p.Spec.Containers[0].ReadinessProbe, &p.Spec.Containers[0].LivenessProbe} {
					*to = httpProbe(8080, "/sleep?ms=2000")
					(*to).TimeoutSeconds = 3
				}
				s.set(p)
				s.ready("web")
				s.lasts(8 * time.Second)
			},
		},
		{
			name: "r2-startup-8-of-10", class: workload, silent: allBut(),
			does: "The app needs 7.5 s; its startup probe asks each second and may fail ten times.",
			make: func(s *scene) {
				p := s.runs("web", run("sleep 7.5; touch /tmp/up"))
				p.Spec.Containers[0].StartupProbe = execProbe("test -e /tmp/up")
				p.Spec.Containers[0].StartupProbe.FailureThreshold = 10
				s.set(p)
				s.ready("web")
				s.lasts(3 * time.Second)
			},
		},
		{
			name: "r2-liveness-fails-once", class: workload, silent: allBut(),
			does: "The liveness probe of a pod that is ready fails once or twice, of three times in a row, and then succeeds.",
			make: func(s *scene) {
				p := s.runs("web", run("touch /tmp/ok; sleep 6; rm /tmp/ok; sleep 1.2; touch /tmp/ok"))
				p.Spec.Containers[0].LivenessProbe = execProbe("test -e /tmp/ok")
				s.set(p)
				s.ready("web")
				s.lasts(12 * time.Second)
			},
		},
		{
			name: "r2-probe-command-missing", class: workload, want: []string{"KL30"}, silent: []string{"KL15", "KL19", "KL27", "KL31", "KL33", "KL36"},
			does: "The command of the readiness probe is not in the image.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].ReadinessProbe = execProbe("")
				p.Spec.Containers[0].ReadinessProbe.Exec.Command = []string{"/opt/shop/check", "--ready"}
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "r2-probe-starved", class: workload, want: []string{"KL20"}, may: []string{"KL30"},
			silent: []string{"KL15", "KL19", "KL27", "KL31", "KL33"},
			does:   "The container may use 3 % of a processor, and its program computes: the command of the probe does not end in 1 s.",
			make: func(s *scene) {
				p := s.runs("web", "trap 'exit 0' TERM; while :; do :; done")
				p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("30m")}
				p.Spec.Containers[0].Resources.Requests = p.Spec.Containers[0].Resources.Limits
				p.Spec.Containers[0].ReadinessProbe = execProbe("for n in $(seq 20000); do :; done")
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(25 * time.Second)
			},
		},
	}
}
