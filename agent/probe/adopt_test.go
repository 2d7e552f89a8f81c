package probe

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// mirrors has the mirror pods of static pods, by UID.
type mirrors map[types.UID]*v1.Pod

func (m mirrors) Mirror(uid types.UID) *v1.Pod { return m[uid] }

// A static pod's container that started before this agent counts as ready; one that started later or has exited does
// not. A mirror pod's status takes precedence.
func TestAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		ran := func(name string, state podstate.State, at time.Time) podstate.Container {
			return podstate.Container{Name: name, ID: "id-" + name, State: state, StartedAt: at}
		}
		w := &world{t: t, at: now, seen: &podstate.Pod{Containers: []podstate.Container{
			ran("before", podstate.Running, now.Add(-time.Minute)), ran("since", podstate.Running, now.Add(time.Minute)), ran("ended", podstate.Exited, now.Add(-time.Minute)),
		}}}
		known := mirrors{"mirrored": {Status: v1.PodStatus{Message: "as the API has it"}}}
		p, err := New(Config{Exec: noExec{}, Observer: w, Mirrors: known})
		if err != nil {
			t.Fatal(err)
		}
		want := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "before", ContainerID: "id-before", Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		}}}
		if diff := cmp.Diff(want, p.adopted(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "new"}})); diff != "" {
			t.Errorf("without a mirror (-want +got)\n%s", diff)
		}
		if got := p.adopted(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "mirrored"}}); got.Message != "as the API has it" {
			t.Errorf("with a mirror: got %+v", got)
		}
		w.seen = nil
		if diff := cmp.Diff(&v1.PodStatus{}, p.adopted(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "new"}})); diff != "" {
			t.Errorf("nothing runs (-want +got)\n%s", diff)
		}
	})
}
