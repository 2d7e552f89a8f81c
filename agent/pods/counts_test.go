package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

func TestCounts(t *testing.T) {
	s := NewStore()
	now := time.Now()
	add := func(name, source string) *v1.Pod {
		p := podOf(name, name)
		p.Annotations = map[string]string{podspec.AnnotationSource: source}
		s.put(p, now)
		return p
	}
	add("api", podspec.SourceAPI).Spec.EphemeralContainers = make([]v1.EphemeralContainer, 2)
	add("over", podspec.SourceAPI)
	add("terminating", podspec.SourceAPI)
	add("removed", podspec.SourceAPI)
	static := add("static", podspec.SourceFile)
	s.with("over", func(e *entry) { e.status.Phase = v1.PodSucceeded })
	s.with("terminating", func(e *entry) { e.ended, e.status.Phase = now, v1.PodFailed })
	s.with("removed", func(e *entry) { e.ended, e.removed = now, true })
	s.with("static", func(e *entry) { e.ended = now })
	s.again(static)
	s.preempted(1, v1.ResourceCPU)
	s.preempted(2, v1.ResourceCPU)
	got := s.Counts(map[types.UID]worker.State{
		"api": worker.Syncing, "over": worker.Terminated, "terminating": worker.Terminating, "removed": worker.Terminating, "static": worker.Terminating, "unknown": worker.Terminating,
	})
	want := Counts{
		Restarted: map[bool]uint64{}, Admitted: map[Admitted]uint64{}, Preempted: map[v1.ResourceName]uint64{v1.ResourceCPU: 3}, Active: map[bool]int{false: 2, true: 1}, Ephemeral: 2,
		Working: map[Working]int{
			{worker.Syncing, "desired", false}: 1, {worker.Terminated, "desired", false}: 1, {worker.Terminating, "orphan", false}: 1,
			{worker.Terminating, "desired", false}: 1, {worker.Terminating, "desired", true}: 1, {worker.Terminating, "runtime_only", false}: 1,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	s.retire("static", func(*entry, *entry) {})
	if n := s.Counts(nil).Restarted[true]; n != 1 {
		t.Errorf("%d static pods were restarted", n)
	}
}

func TestAdmittedCounts(t *testing.T) {
	s := NewStore()
	some := v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}
	for _, c := range []struct{ inPod, inContainer bool }{{}, {inPod: true}, {inContainer: true}, {true, true}, {}} {
		p := podOf("a", "u")
		p.Spec.Containers = []v1.Container{{Name: "a"}}
		if c.inPod {
			p.Spec.Resources = &some
		}
		if c.inContainer {
			p.Spec.Containers[0].Resources = some
		}
		s.admitted(p)
	}
	want := map[Admitted]uint64{
		{"", v1.PodQOSBestEffort}: 2, {"pod_level", v1.PodQOSBurstable}: 1, {"container_level", v1.PodQOSBurstable}: 1, {"pod_and_container_level", v1.PodQOSBurstable}: 1,
	}
	if d := cmp.Diff(want, s.Counts(nil).Admitted); d != "" {
		t.Error(d)
	}
}
