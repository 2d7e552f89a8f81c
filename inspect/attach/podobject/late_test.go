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

// TestLate: what is told late happened when the kubelet noted it. A kubelet that was started again does not know at first what was so before.
func TestLate(t *testing.T) {
	now := time.Unix(10_000, 0)
	pending := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}, Spec: v1.PodSpec{Containers: make([]v1.Container, 2)}}
	pending.Status.Phase = v1.PodPending
	running := func(started, ready time.Time) *v1.Pod {
		p := pending.DeepCopy()
		p.Status.Phase = v1.PodRunning
		for i := range 2 {
			at := metav1.Time{Time: started.Add(time.Duration(i-1) * time.Second)}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at}}})
		}
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Time{Time: ready}}}
		return p
	}
	for name, c := range map[string]struct {
		after          time.Duration // since it was told first
		started, ready time.Duration // ago
		want           []string
	}{
		"told at once":                    {time.Minute, time.Second, time.Second, []string{"started 0s ago ±2s", "ready 0s ago ±1s"}},
		"nobody told for some time":       {time.Hour, 50 * time.Minute, 40 * time.Minute, []string{"started 50m0s ago ±1s", "ready 40m0s ago ±1s"}},
		"so before the kubelet's restart": {time.Second, 50 * time.Minute, 40 * time.Minute, nil},
	} {
		f := NewFold(trace.ObserverAPIServer, time.Second)
		f.Apply(pending, now.Add(-c.after))
		f.Synced()
		var got []string
		for _, r := range f.Apply(running(now.Add(-c.started), now.Add(-c.ready)), now) {
			if e, ok := r.Event.(*trace.Milestone); ok {
				got = append(got, fmt.Sprintf("%s %s ago ±%s", e.Name, now.Sub(r.At()), r.Precision.Duration()))
			} else if !r.At().Equal(now) {
				t.Errorf("%s: its status is of %v", name, r.At())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
