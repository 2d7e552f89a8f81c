package e2e

import (
	"errors"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLostContainer removes a running pod's sandbox from the runtime, with its container, while the agent is stopped by SIGSTOP: it does not see the
// container's exit. The container never runs again, so the pod has failed.
func TestLostContainer(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("once.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	a.ready("once")
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sandboxes, err := n.runtime.ListPodSandbox(n.ctx(), &runtimeapi.ListPodSandboxRequest{})
	if err == nil && len(sandboxes.Items) != 1 {
		t.Errorf("%d sandboxes, want 1", len(sandboxes.Items))
	}
	for _, s := range sandboxes.GetItems() {
		if _, err := n.runtime.RemovePodSandbox(n.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Id}); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(err, a.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	a.phase("once", "Failed")
	a.wait("the end of the pod's work", func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Worker)
		return ok && r.Pod.Name == n.pod("once") && w.To == trace.WorkerTerminated
	})
	if starts := a.order(n.pod("once"), "start"); len(starts) != 1 {
		t.Errorf("it was started %d times, want once", len(starts))
	}
}
