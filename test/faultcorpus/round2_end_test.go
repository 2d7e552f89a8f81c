package faultcorpus_test

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ends deletes the pod when it is ready, and waits until it is gone.
func (s *scene) ends(p *v1.Pod, grace int64) {
	s.t.Helper()
	p.Spec.TerminationGracePeriodSeconds = new(grace)
	s.set(p)
	s.ready(p.Name)
	s.lasts(2 * time.Second)
	s.set()
	s.reached(p.Name, trace.MilestoneGone)
}

// hooked is a pod whose preStop hook runs a script.
func (s *scene) hooked(script string) *v1.Pod {
	p := s.pod("web")
	hook := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", script}}}
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: hook}
	return p
}

// finalized makes a pod in the API with a finalizer, which is removed when the case ends.
func (s *scene) finalized(p *v1.Pod) {
	s.t.Helper()
	p.Finalizers = []string{"shop.example/nobody"}
	s.create(p)
	s.t.Cleanup(func() {
		ctx := context.WithoutCancel(s.t.Context())
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := s.api.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			s.t.Error(err)
		}
	})
}

func endAgain() []fault {
	const class = "end"
	stuck := []string{"KL06", "KL07", "KL14", "KL15", "KL16", "KL27", "KL30", "KL33"}
	return []fault{
		{
			name: "r2-prestop-hangs", class: class, want: []string{"KL17"}, silent: stuck,
			does: "The preStop hook does not end within the grace period, 7 s.",
			make: func(s *scene) { s.ends(s.hooked("sleep 60"), 7) },
		},
		{
			name: "r2-prestop-3s", class: class, silent: allBut(),
			does: "The preStop hook takes 3 s of a grace period of 20 s, and the container then exits at SIGTERM.",
			make: func(s *scene) { s.ends(s.hooked("sleep 3"), 20) },
		},
		{
			name: "r2-grace-less-1s", class: class, silent: allBut(),
			does: "The container takes 7 s to end at SIGTERM, of a grace period of 8 s.",
			make: func(s *scene) { s.ends(s.runs("web", "trap 'sleep 7; exit 0' TERM; sleep infinity & wait"), 8) },
		},
		{
			name: "r2-finalizer", class: class, cluster: true, want: []string{"KL17"}, silent: stuck,
			does: "The pod is deleted and its container has exited; a finalizer that nobody removes keeps the object for 20 s so far.",
			make: func(s *scene) {
				s.finalized(s.pod("web"))
				s.ready("web")
				if err := s.api.client.CoreV1().Pods("default").Delete(s.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
					s.t.Fatal(err)
				}
				s.reached("web", trace.MilestoneTerminating)
				s.lasts(20 * time.Second)
			},
		},
	}
}
