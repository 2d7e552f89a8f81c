package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// http is a pod of the laboratory's HTTP server, at port 8080.
func (s *scene) http() *v1.Pod {
	p := s.image("web", s.Image(lab.ImageHTTP))
	p.Spec.Containers[0].Command = nil
	return p
}

// httpProbe asks each second for a path at a port.
func httpProbe(port int32, path string) *v1.Probe {
	p := execProbe("")
	p.ProbeHandler = v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(port), Path: path, Scheme: v1.URISchemeHTTP}}
	return p
}

// run is a program that stays, after a script.
func run(script string) string { return "trap 'exit 0' TERM; " + script + "; sleep infinity & wait" }

func probeFaults() []fault {
	return []fault{
		{
			name: "probe-readiness-503", class: workload, want: []string{"KL30"}, silent: []string{"KL19", "KL15", "KL27", "KL33"},
			does: "The app runs, and answers its readiness probe with 503 for 25 s so far.",
			make: func(s *scene) {
				p := s.http()
				p.Spec.Containers[0].ReadinessProbe = httpProbe(8080, "/status?code=503")
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(25 * time.Second)
			},
		},
		{
			name: "probe-liveness-restarts", class: workload, want: []string{"KL30"}, may: []string{"KL27"}, silent: []string{"KL32", "KL33", "KL17", "KL15"},
			does: "The app loses what its liveness probe looks for after 5 s: the kubelet kills and restarts it, again and again.",
			make: func(s *scene) {
				p := s.runs("web", run("touch /tmp/ok; (sleep 5; rm /tmp/ok) & true"))
				p.Spec.Containers[0].LivenessProbe = execProbe("test -e /tmp/ok")
				s.set(p)
				s.waits("web", trace.WaitBackoff, 1)
				s.lasts(6 * time.Second)
			},
		},
		{
			name: "probe-startup-never", class: workload, want: []string{"KL30"}, may: []string{"KL27"}, silent: []string{"KL31", "KL32", "KL33", "KL15"},
			does: "Nobody listens at the port of the startup probe: the kubelet gives the app 5 s, and restarts it.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].StartupProbe = httpProbe(9090, "/")
				p.Spec.Containers[0].StartupProbe.FailureThreshold = 5
				s.set(p)
				s.waits("web", trace.WaitBackoff, 1)
				s.lasts(6 * time.Second)
			},
		},
		{
			name: "probe-wrong-port", class: workload, want: []string{"KL30"}, silent: []string{"KL06", "KL07", "KL19", "KL31", "KL33"},
			does: "The app listens at port 8080, and its readiness probe asks at 8081: connection refused.",
			make: func(s *scene) {
				p := s.http()
				p.Spec.Containers[0].ReadinessProbe = httpProbe(8081, "/healthz")
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "probe-failed-twice", class: workload, silent: []string{"KL30", "KL15", "KL27", "KL33"},
			does: "The app needs 2 s: its readiness probe fails once or twice, of three, and then succeeds.",
			make: func(s *scene) {
				p := s.runs("web", run("sleep 2; touch /tmp/up"))
				p.Spec.Containers[0].ReadinessProbe = execProbe("test -e /tmp/up")
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "probe-liveness-recovers", class: workload, silent: []string{"KL30", "KL27", "KL33", "KL20"},
			does: "A liveness probe of a pod that is ready fails for 2 s, and may fail five times in a row.",
			make: func(s *scene) {
				p := s.runs("web", run("touch /tmp/ok; sleep 6; rm /tmp/ok; sleep 2; touch /tmp/ok"))
				p.Spec.Containers[0].LivenessProbe = execProbe("test -e /tmp/ok")
				p.Spec.Containers[0].LivenessProbe.FailureThreshold = 5
				s.set(p)
				s.ready("web")
				s.lasts(15 * time.Second)
			},
		},
		{
			name: "probe-delay-fits", class: workload, may: []string{"KL19"}, silent: []string{"KL30", "KL15", "KL27", "KL33"},
			does: "The app needs 9 s, and its probes wait for initialDelaySeconds, 10 s: none fails.",
			make: func(s *scene) {
				p := s.runs("web", run("sleep 9; touch /tmp/up"))
				for _, to := range []**v1.Probe{&p.Spec.Containers[0].ReadinessProbe, &p.Spec.Containers[0].LivenessProbe} {
					*to = execProbe("test -e /tmp/up")
					(*to).InitialDelaySeconds = 10
				}
				s.set(p)
				s.ready("web")
				s.lasts(3 * time.Second)
			},
		},
	}
}
