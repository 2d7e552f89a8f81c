package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// initial is a pod whose init container runs a script.
func (s *scene) initial(script string) *v1.Pod {
	p := s.pod("web")
	p.Spec.InitContainers = []v1.Container{{Name: "migrate", Image: p.Spec.Containers[0].Image, Command: []string{"sh", "-c", script}}}
	podspec.SetDefaults(p)
	return p
}

// execProbe is a probe that runs a script each second.
func execProbe(script string) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", script}}},
		PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func podFaults() []fault {
	const class = "pod"
	return []fault{
		{
			name: "init-crashes", class: class, want: []string{"KL27"}, silent: []string{"KL21", "KL19", "KL15"},
			does: "The init container exits with status 1 at once, again and again; it waits in back-off.",
			make: func(s *scene) {
				s.set(s.initial("exit 1"))
				s.waits("web", trace.WaitBackoff, 2)
				s.lasts(12 * time.Second)
			},
		},
		{
			name: "init-slow", class: class, want: []string{"KL21"}, silent: []string{"KL27", "KL15", "KL16"},
			does: "The init container works for 8 s.",
			make: func(s *scene) {
				s.set(s.initial("sleep 8"))
				s.ready("web")
			},
		},
		{
			name: "app-crashes", class: class, want: []string{"KL27"}, silent: []string{"KL21", "KL15", "KL16", "KL14"},
			does: "The container exits with status 3 at once, again and again, while the machine is busy.",
			make: func(s *scene) {
				s.set(s.runs("web", "exit 3"))
				s.waits("web", trace.WaitBackoff, 2)
				s.lasts(12 * time.Second)
			},
		},
		{
			name: "readiness-program-slow", class: class, may: []string{"KL21"}, silent: []string{"KL19", "KL15"},
			does: "The program needs 15 s until it answers; the probe asks each second.",
			make: func(s *scene) {
				p := s.runs("web", "trap 'exit 0' TERM; sleep 15; touch /tmp/up; sleep infinity & wait")
				p.Spec.Containers[0].ReadinessProbe = execProbe("test -e /tmp/up")
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "readiness-period-long", class: class, want: []string{"KL19"}, silent: []string{"KL15", "KL20"},
			does: "The program needs 13 s; the attempt after 12 s fails, and the next comes after 24 s.",
			make: func(s *scene) {
				p := s.runs("web", "trap 'exit 0' TERM; sleep 13; touch /tmp/up; sleep infinity & wait")
				p.Spec.Containers[0].ReadinessProbe = execProbe("test -e /tmp/up")
				p.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 12
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "readiness-delay", class: class, want: []string{"KL19"}, silent: []string{"KL15", "KL20"},
			does: "The program is up at once; the first probe comes after initialDelaySeconds, 10 s.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].ReadinessProbe = execProbe("true")
				p.Spec.Containers[0].ReadinessProbe.InitialDelaySeconds = 10
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "rejected", class: class, want: []string{"KL35"}, silent: []string{"KL15", "KL16", "KL17", "KL23"},
			does: "The pod asks for a sysctl that the agent forbids: the agent rejects it.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "kernel.msgmax", Value: "65536"}}}
				s.set(p)
				s.until("the rejection", func(r *trace.Record) bool {
					d, ok := r.Event.(*trace.Decision)
					return ok && r.Pod.Name == "web" && d.By == trace.ByAdmission && d.Verdict == trace.VerdictReject
				})
				s.lasts(5 * time.Second)
			},
		},
		{
			name: "neighbor-memory-limit", class: class, want: []string{"KL21"}, silent: []string{"KL24", "KL25", "KL15"},
			does: "Another pod's container stalls at its own memory limit while this pod's init container takes 10 s. The node has memory.",
			make: func(s *scene) {
				hog := s.runs("hog", "while :; do dd if=/dev/zero of=/tmp/f bs=1M count=60 2>/dev/null; cat /tmp/f >/dev/null; done")
				hog.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("24Mi")}
				s.set(hog)
				s.ready("hog")
				s.set(hog, s.initial("sleep 10"))
				s.ready("web")
			},
		},
		{
			name: "quiet-start", class: class, silent: []string{"KL01", "KL02", "KL05", "KL06", "KL07", "KL14", "KL15", "KL16", "KL19", "KL21", "KL27"},
			does: "A pod starts without any trouble.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.ready("web")
			},
		},
	}
}
