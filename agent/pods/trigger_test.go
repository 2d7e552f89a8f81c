package pods

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
)

// What made the agent try waiting resizes again is told as upstream tells it.
func TestTriggerOfResizes(t *testing.T) {
	in := func(phase v1.PodPhase) []*v1.Pod { return []*v1.Pod{{}, {Status: v1.PodStatus{Phase: phase}}} }
	for _, c := range []struct {
		update podsource.Update
		want   trace.ResizeTrigger
	}{
		{podsource.Update{Op: podsource.OpAdd}, trace.ResizeForAdded},
		{podsource.Update{Op: podsource.OpUpdate, Pods: in(v1.PodRunning)}, trace.ResizeForUpdated},
		{podsource.Update{Op: podsource.OpReconcile, Pods: in(v1.PodRunning)}, trace.ResizeForResized},
		{podsource.Update{Op: podsource.OpReconcile, Pods: in(v1.PodFailed)}, trace.ResizeForTerminated},
		{podsource.Update{Op: podsource.OpReconcile, Pods: in(v1.PodSucceeded)}, trace.ResizeForTerminated},
		{podsource.Update{Op: podsource.OpRemove, Pods: in(v1.PodRunning)}, trace.ResizeForRemoved},
	} {
		if got := triggerOf(c.update); got != c.want {
			t.Errorf("%s: %q, want %q", c.update.Op, got, c.want)
		}
	}
}
