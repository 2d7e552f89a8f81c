package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// memory says how much memory a container may use.
func memory(c *v1.Container, limit string) {
	c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse(limit)}
	c.Resources.Requests = c.Resources.Limits
}

func memoryFaults() []fault {
	return []fault{
		{
			name: "oom-app", class: workload, want: []string{"KL32"}, may: []string{"KL27"}, silent: []string{"KL24", "KL30", "KL31", "KL33"},
			does: "The app needs more memory than its limit, 24 MiB: the kernel kills it, again and again.",
			make: func(s *scene) {
				p := s.runs("web", "sleep 1; exec tail /dev/zero")
				memory(&p.Spec.Containers[0], "24Mi")
				s.loops(p)
			},
		},
		{
			name: "oom-init", class: workload, want: []string{"KL32"}, may: []string{"KL27"}, silent: []string{"KL21", "KL24", "KL31", "KL33"},
			does: "The init container needs more memory than its limit, 24 MiB; the app has none.",
			make: func(s *scene) {
				p := s.initial("sleep 1; exec tail /dev/zero")
				memory(&p.Spec.InitContainers[0], "24Mi")
				s.loops(p)
			},
		},
		{
			name: "oom-of-a-child", class: workload, may: []string{"KL32"}, silent: []string{"KL27", "KL31", "KL33", "KL24"},
			does: "The kernel kills a child of the app at the container's limit; the app continues, and the pod is ready.",
			make: func(s *scene) {
				p := s.runs("web", run("sleep 1; tail /dev/zero; true"))
				memory(&p.Spec.Containers[0], "24Mi")
				s.set(p)
				s.ready("web")
				s.lasts(8 * time.Second)
			},
		},
		{
			name: "exit-killed-itself", class: workload, want: []string{"KL33"}, silent: []string{"KL32", "KL17", "KL24", "KL27"},
			does: "A process of the app kills it with SIGKILL: exit code 137. It has a memory limit, and is far below it.",
			make: func(s *scene) {
				p := s.once("sleep 2; kill -9 $$$$")
				p.Spec.ShareProcessNamespace = new(true) // a process cannot kill the first one of its own namespace
				memory(&p.Spec.Containers[0], "64Mi")
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
	}
}

func exitFaults() []fault {
	return []fault{
		{
			name: "exit-1", class: workload, want: []string{"KL33"}, silent: []string{"KL27", "KL31", "KL32", "KL17"},
			does: "The app exits with status 1 after 3 s, and is not restarted.",
			make: func(s *scene) {
				s.set(s.once("sleep 3; exit 1"))
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "exit-terminated-itself", class: workload, want: []string{"KL33"}, silent: []string{"KL17", "KL27", "KL30", "KL32"},
			does: "The app sends itself SIGTERM: exit code 143. Nobody deletes the pod.",
			make: func(s *scene) {
				p := s.once("sleep 2; kill -TERM $$$$")
				p.Spec.ShareProcessNamespace = new(true)
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "exit-segfault", class: workload, want: []string{"KL27"}, may: []string{"KL33"}, silent: []string{"KL30", "KL31", "KL32", "KL17"},
			does: "The app ends with SIGSEGV, exit code 139, again and again.",
			make: func(s *scene) {
				p := s.runs("web", "sleep 1; kill -SEGV $$$$")
				p.Spec.ShareProcessNamespace = new(true)
				s.loops(p)
			},
		},
		{
			name: "exit-0-always", class: workload, want: []string{"KL27"}, may: []string{"KL33"}, silent: []string{"KL30", "KL31", "KL32", "KL17"},
			does: "The app is done after 2 s, and exits with 0. restartPolicy is Always: it is restarted, again and again.",
			make: func(s *scene) { s.loops(s.runs("web", "sleep 2")) },
		},
		{
			name: "exit-0-once", class: workload, silent: []string{"KL33", "KL27", "KL31", "KL17", "KL30"},
			does: "The work of the pod is done after 3 s, as that of a Job's: it exits with 0 and is not restarted.",
			make: func(s *scene) {
				s.set(s.once("sleep 3"))
				s.phase("web", trace.PodSucceeded)
				s.lasts(4 * time.Second)
			},
		},
	}
}
