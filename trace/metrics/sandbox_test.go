package metrics

import (
	"fmt"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// A sandbox that fails because its pod was deleted meanwhile is no error of a start; that of the pod's next life is.
func TestSandboxOfADeletedPod(t *testing.T) {
	s, reg := newSink(t)
	apply := func(e trace.Event) { s.Apply(&trace.Record{Pod: web, Edge: trace.EdgeEnd, Event: e}) }
	for i, c := range []struct {
		name             string
		to               trace.WorkerState
		err              string
		attempts, failed int
	}{
		{"not known", "", "no network", 1, 1},
		{"it fails", trace.WorkerSyncing, "no network", 2, 2},
		{"it is deleted", trace.WorkerTerminating, "context canceled", 3, 2},
		{"it has terminated", trace.WorkerTerminated, "context canceled", 4, 2},
		{"its next life", trace.WorkerSyncing, "no network", 5, 3},
		{"it succeeds while it is deleted", trace.WorkerTerminating, "", 6, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i == 0 {
				apply(&trace.Worker{To: trace.WorkerTerminating}) // of a pod without state
			} else {
				apply(&trace.Worker{To: c.to})
			}
			apply(&trace.Action{Verb: trace.VerbSandbox, Err: c.err})
			if i == 0 {
				apply(&trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{UserNamespace: true}})
			}
			has(t, ours(t, reg),
				fmt.Sprintf("kubelet_started_pods_total %d", c.attempts),
				fmt.Sprintf("kubelet_started_pods_errors_total %d", c.failed),
				fmt.Sprintf("kubelet_started_user_namespaced_pods_total %d", c.attempts-1),
				fmt.Sprintf("kubelet_started_user_namespaced_pods_errors_total %d", c.failed-1))
		})
	}
}
