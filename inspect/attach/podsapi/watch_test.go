package podsapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestFold(t *testing.T) {
	got := ""
	f := podobject.NewFold(trace.ObserverKubeletAPI, late)
	show := func(r *trace.Record) {
		switch e := r.Event.(type) {
		case *trace.Milestone:
			got += fmt.Sprintf("%s %s\n", r.Pod, e.Name)
		case *trace.PodStatus:
			c := e.Containers[0]
			got += fmt.Sprintf("%s %s %d/%d %s %s %s\n", r.Pod, e.Phase, e.Ready, e.Total, c.Name, c.State, c.Reason)
			if len(e.Containers) != 1 || c.Restarts != 0 || c.Last != nil {
				t.Errorf("got containers %+v", e.Containers)
			}
		}
		if r.Observer != trace.ObserverKubeletAPI || r.Pod.UID == "" {
			t.Errorf("got %+v", r)
		}
	}
	event := func(kind podsv1alpha1.EventType, name string, ready bool, st v1.ContainerState) *podsv1alpha1.WatchPodsEvent {
		p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "1"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Env: []v1.EnvVar{{Name: "SECRET", Value: "s"}}}}}}
		p.Status = v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "c", Ready: ready, State: st}}}
		if ready {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
		b, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return &podsv1alpha1.WatchPodsEvent{Type: kind, Pod: b}
	}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	for _, e := range []*podsv1alpha1.WatchPodsEvent{
		event(podsv1alpha1.EventType_ADDED, "old", true, running),
		{Type: podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE},
		event(podsv1alpha1.EventType_MODIFIED, "old", true, running),
		event(podsv1alpha1.EventType_DELETED, "old", false, v1.ContainerState{}),
		event(podsv1alpha1.EventType_ADDED, "new", false, v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}),
		event(podsv1alpha1.EventType_MODIFIED, "new", true, running),
	} {
		recs, err := take(f, e, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		for i := range recs {
			show(&recs[i])
		}
	}
	const want = `a/old Running 1/1 c running 
a/old Running 1/1 c running 
a/new seen
a/new Running 0/1 c waiting ContainerCreating
a/new started
a/new ready
a/new Running 1/1 c running 
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := take(f, &podsv1alpha1.WatchPodsEvent{Type: podsv1alpha1.EventType_ADDED, Pod: []byte("garbage")}, time.Now()); err == nil {
		t.Error("took garbage")
	}
}
