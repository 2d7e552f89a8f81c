package podobject

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestMirror: the mirror of a static pod tells of this pod, by its UID. When somebody deletes the mirror, the pod stays.
func TestMirror(t *testing.T) {
	now := time.Unix(1000, 0)
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: "etcd-n1", UID: "mirror", Annotations: map[string]string{v1.MirrorPodAnnotationKey: "hash", sourceKey: "file"},
	}}
	mirror.Spec.Containers = make([]v1.Container, 1)
	mirror.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &metav1.Time{Time: now.Add(-time.Hour)}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}},
	}
	deleted, next, running := mirror.DeepCopy(), mirror.DeepCopy(), mirror.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	next.UID, next.Status = "mirror2", v1.PodStatus{Phase: v1.PodPending}
	running.UID = "mirror2"
	f := NewFold(trace.ObserverAPIServer, time.Second)
	var got []string
	apply := func(pod *v1.Pod) {
		for _, r := range f.Apply(pod, now) {
			what := fmt.Sprint(r.Pod, " ", r.Pod.UID, " ", r.Event.Kind())
			if m, ok := r.Event.(*trace.Milestone); ok {
				what += " " + string(m.Name)
			}
			got = append(got, what)
		}
	}
	apply(mirror)
	f.Synced()
	apply(deleted)
	f.Gone(deleted)
	apply(next)
	apply(running)
	status := fmt.Sprint("kube-system/etcd-n1 hash ", (&trace.PodStatus{}).Kind())
	want := []string{status, status, status} // the next mirror has none at first
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !f.Knows("hash") || f.Knows("mirror") {
		t.Error("it is not known by its UID")
	}
	f.Only(map[string]bool{})
	if f.Knows("hash") {
		t.Error("it is not forgotten")
	}
}
