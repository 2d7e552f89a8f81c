package podobject

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Ready, Total and Restarts are what kubectl get pods shows: with sidecars, and with the init containers until they have completed.
func TestStatusCounts(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}}, Containers: []v1.Container{{Name: "main"}}}}
	pod.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "init", RestartCount: 4}, {Name: "sidecar"}}
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodInitialized, Status: v1.ConditionFalse}}
	if got := Status(pod); got.Ready != 0 || got.Total != 2 || got.Restarts != 4 {
		t.Errorf("initializing: ready %d of %d, %d restarts; want 0 of 2, 4 restarts", got.Ready, got.Total, got.Restarts)
	}
	pod.Status.InitContainerStatuses[1] = v1.ContainerStatus{Name: "sidecar", Ready: true, RestartCount: 2}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Ready: true, RestartCount: 1}}
	pod.Status.Conditions[0].Status = v1.ConditionTrue
	if got := Status(pod); got.Ready != 2 || got.Total != 2 || got.Restarts != 3 {
		t.Errorf("running: ready %d of %d, %d restarts; want 2 of 2, 3 restarts", got.Ready, got.Total, got.Restarts)
	}
}
