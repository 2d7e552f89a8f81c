package podstatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLastExit sees that the last exit of a container has the runtime's message, and never the container's own last words.
func TestLastExit(t *testing.T) {
	const refused = `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "nope": executable file not found in $PATH`
	for name, c := range map[string]struct {
		reason, message string
		want            string
		class           trace.FailureClass
	}{
		"it ended":                {"Error", "token klsecret is refused", "", ""},
		"it could not be started": {"StartError", refused, refused, trace.ClassifyExit(3, "StartError", refused)},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
		got := Trace(pod, v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name:  "main",
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}},
			LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason: c.reason, Message: c.message, ExitCode: 3,
			}},
		}}}, nil).Containers[0].Last
		if got == nil || got.Message != c.want || got.Class != c.class || got.ExitCode != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if trace.ClassifyExit(3, "StartError", refused) == "" {
		t.Error("the runtime's message has no class")
	}
}
