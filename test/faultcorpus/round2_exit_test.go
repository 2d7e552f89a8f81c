package faultcorpus_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// failing is a script that exits with 1 the first times. It counts in /work.
func failing(times int) string {
	return fmt.Sprintf("n=$(cat /work/n || echo 0); echo $((n+1)) > /work/n; sleep 1; [ $n -ge %d ]", times)
}

func exitAgain() []fault {
	return []fault{
		{
			name: "r2-init-fails-twice", class: workload, want: []string{"KL27"}, silent: []string{"KL15", "KL21", "KL30", "KL31", "KL32"},
			does: "The init container fails twice, works the third time, after a back-off of 10 s, and the pod starts.",
			make: func(s *scene) {
				s.set(s.prepared(failing(2), "sh", "-c", run("true")))
				s.ready("web")
			},
		},
		{
			name: "r2-init-fails-once", class: workload, may: []string{"KL21"}, silent: allBut("KL21"),
			does: "The init container fails once, is restarted at once, and the pod starts.",
			make: func(s *scene) {
				s.set(s.prepared(failing(1), "sh", "-c", run("true")))
				s.ready("web")
			},
		},
		{
			name: "r2-onfailure-done", class: workload, silent: allBut(),
			does: "The work is done after 4 s and the container exits with 0; restartPolicy is OnFailure.",
			make: func(s *scene) {
				p := s.once("sleep 4")
				p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
				s.set(p)
				s.phase("web", trace.PodSucceeded)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "r2-onfailure-second-try", class: workload, silent: allBut(),
			does: "The container fails once, is restarted at once, and its work is done; restartPolicy is OnFailure.",
			make: func(s *scene) {
				p := s.prepared("true", "sh", "-c", failing(1))
				p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
				s.set(p)
				s.phase("web", trace.PodSucceeded)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "r2-oom-worker-ends-app", class: workload, want: []string{"KL32"}, may: []string{"KL33"},
			silent: []string{"KL17", "KL24", "KL27", "KL30", "KL31"},
			does:   "The kernel kills a child of the app at the container's limit; the app exits with 1 because of it. It is not restarted.",
			make: func(s *scene) {
				p := s.once("sleep 1; tail /dev/zero || exit 1; sleep infinity")
				memory(&p.Spec.Containers[0], "24Mi")
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "r2-oom-workers", class: workload, silent: allBut(),
			does: "The kernel kills three children of the second container at its limit, one after the other; the pod is ready all the time.",
			make: func(s *scene) {
				p := s.pod("web")
				c := *p.Spec.Containers[0].DeepCopy()
				c.Name, c.Command = "workers", []string{"sh", "-c", run("for n in 1 2 3; do sleep 2; tail /dev/zero; done")}
				memory(&c, "24Mi")
				p.Spec.Containers = append(p.Spec.Containers, c)
				podspec.SetDefaults(p)
				s.set(p)
				s.ready("web")
				s.lasts(12 * time.Second)
			},
		},
	}
}
