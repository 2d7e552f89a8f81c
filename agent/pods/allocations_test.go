package pods

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// allocatedNodes has for each pod the name of the node of its allocation, which stands for what was allocated.
type allocatedNodes map[types.UID]string

func (a allocatedNodes) Allocated(pod *v1.Pod) (*v1.Pod, bool) {
	node, ok := a[pod.UID]
	if !ok {
		return nil, false
	}
	out := *pod
	out.Spec.NodeName = node
	return &out, true
}

type workerStates map[types.UID]worker.State

func (w workerStates) State(uid types.UID) worker.State { return w[uid] }

// Pods that were admitted are there as allocated, until they have terminated.
func TestAllocations(t *testing.T) {
	s := NewStore()
	for _, name := range []string{"running", "terminating", "failing", "failed", "terminated", "rejected", "new", "removed"} {
		s.put(podOf(name, "u-"+name), time.Now())
	}
	for uid, phase := range map[types.UID]v1.PodPhase{"u-running": v1.PodRunning, "u-failing": v1.PodFailed, "u-failed": v1.PodFailed, "u-rejected": v1.PodFailed} {
		s.with(uid, func(e *entry) { e.status.Phase = phase })
	}
	for _, uid := range []types.UID{"u-terminating", "u-failing", "u-terminated"} {
		s.with(uid, func(e *entry) { e.ended = time.Now() })
	}
	s.with("u-removed", func(e *entry) { e.ended, e.removed = time.Now(), true })
	a := Allocations{
		Store:   s,
		Resizes: allocatedNodes{"u-running": "n1", "u-terminating": "n2", "u-failing": "n3", "u-failed": "n4", "u-terminated": "n5", "u-removed": "n6"},
		Workers: workerStates{"u-running": worker.Syncing, "u-terminating": worker.Terminating, "u-failing": worker.Terminating, "u-terminated": worker.Terminated, "u-removed": worker.Terminating},
	}
	var got []string
	for _, p := range a.Pods() {
		got = append(got, p.Name+" "+p.Spec.NodeName)
		if p.Status.Phase != "" {
			t.Errorf("%s has the status %v", p.Name, p.Status)
		}
	}
	slices.Sort(got)
	if want := []string{"failing n3", "running n1", "terminating n2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	namespace := podOf("running", "u-running").Namespace
	if p := a.Pod(namespace, "running"); p == nil || p.Spec.NodeName != "n1" || p.Status.Phase != "" {
		t.Errorf("running: %v", p)
	}
	if s.Copy("u-running").Status.Phase != v1.PodRunning {
		t.Error("the store's pod was changed")
	}
	for _, name := range []string{"failed", "terminated", "rejected", "new", "removed", "nobody"} {
		if p := a.Pod(namespace, name); p != nil {
			t.Errorf("%s: %v", name, p)
		}
	}
	if p := a.Pod("other", "running"); p != nil {
		t.Errorf("in another namespace: %v", p)
	}
}
