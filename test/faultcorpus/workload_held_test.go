package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// heldFaults are cases that were written last. The rules were not changed for them.
func heldFaults() []fault {
	all := []fault{
		{
			name: "held-probe-timeout", class: workload, want: []string{"KL30"}, silent: []string{"KL19", "KL15", "KL33", "KL27"},
			does: "The app is up, and takes 5 s for each answer; its readiness probe waits for 1 s.",
			make: func(s *scene) {
				p := s.http()
				p.Spec.Containers[0].ReadinessProbe = httpProbe(8080, "/sleep?ms=5000")
				s.set(p)
				s.reached("web", trace.MilestoneStarted)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "held-script-interpreter", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL15", "KL32", "KL36"},
			does: "The command is a script whose interpreter is not in the image; its log goes into its message.",
			make: func(s *scene) {
				p := s.prepared("printf '#!/usr/bin/python3\\nprint(1)\\n' > /work/run; chmod +x /work/run", "/work/run")
				p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
				s.loops(p)
			},
		},
		{
			name: "held-exit-255", class: workload, want: []string{"KL27"}, silent: []string{"KL31", "KL36", "KL32", "KL17"},
			does: "The app logs why, and exits with status 255, again and again; its log goes into its message.",
			make: func(s *scene) {
				p := s.runs("web", "sleep 1; echo 'cannot exec the migration: the database is gone'; exit 255")
				p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
				s.loops(p)
			},
		},
		{
			name: "held-init-failed", class: workload, want: []string{"KL33"}, silent: []string{"KL21", "KL27", "KL31", "KL32"},
			does: "The init container exits with status 2, and restartPolicy is Never: the pod has failed, and the app never ran.",
			make: func(s *scene) {
				p := s.initial("sleep 2; exit 2")
				p.Spec.RestartPolicy = v1.RestartPolicyNever
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "held-sidecar-ends", class: workload, silent: []string{"KL33", "KL27", "KL31", "KL17", "KL30"},
			does: "A pod of two containers that is not restarted: one has done its work and exits with 0 while the other one is ready.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.RestartPolicy = v1.RestartPolicyNever
				done := *p.Spec.Containers[0].DeepCopy()
				done.Name, done.Command = "report", []string{"sh", "-c", "sleep 3; exit 0"}
				p.Spec.Containers = append(p.Spec.Containers, done)
				podspec.SetDefaults(p)
				s.set(p)
				s.ready("web")
				s.lasts(9 * time.Second)
			},
		},
		{
			name: "held-subpath-file", class: workload, want: []string{"KL31"}, may: []string{"KL27", "KL10"}, silent: []string{"KL33", "KL34", "KL36", "KL15"},
			does: "A directory of a volume is to be mounted where the image has a file.",
			make: func(s *scene) {
				p := s.pod("web")
				mounted(p, "data", s.hostDir("x", "", 0o644), "/bin/busybox", true)
				s.loops(p)
			},
		},
	}
	for i := range all {
		all[i].round = 1
	}
	return all
}
