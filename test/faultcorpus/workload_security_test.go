package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// failsToCreate sets the pod, and waits until its container could not be created, and is tried again later.
func (s *scene) failsToCreate(p *v1.Pod) {
	s.t.Helper()
	s.set(p)
	s.lasts(20 * time.Second)
}

func securityFaults() []fault {
	return []fault{
		{
			name: "security-root-image", class: workload, want: []string{"KL36"}, silent: []string{"KL31", "KL33", "KL34", "KL05", "KL35"},
			does: "runAsNonRoot, and the image's user is root.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: new(true)}
				s.failsToCreate(p)
			},
		},
		{
			name: "security-seccomp-missing", class: workload, want: []string{"KL36"}, silent: []string{"KL31", "KL33", "KL34", "KL10", "KL35"},
			does: "The seccomp profile of the container is not on the node.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{
					SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: new("profiles/shop.json")},
				}
				s.failsToCreate(p)
			},
		},
		{
			name: "security-user", class: workload, silent: []string{"KL36", "KL31", "KL33", "KL27", "KL35"},
			does: "runAsNonRoot, and runAsUser is 1000: the pod starts.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(1000))}
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "security-app-denied", class: workload, want: []string{"KL33"}, silent: []string{"KL36", "KL31", "KL27", "KL34"},
			does: "The root file system is read-only: the app was started, cannot write its file, and exits with status 1.",
			make: func(s *scene) {
				p := s.once("sleep 1; echo 1 > /var.pid || exit 1; sleep infinity")
				p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
	}
}
