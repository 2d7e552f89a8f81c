package resize

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Actuated returns the resources that were last set for a container, and false for one that is not known. Container "" is the pod itself.
func (m *Manager) Actuated(uid types.UID, container string) (v1.ResourceRequirements, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.actuated[uid]
	if !known {
		i, known = m.allocated[uid]
	}
	if container == "" {
		if !known || i.PodLevelResources == nil {
			return v1.ResourceRequirements{}, known
		}
		return *i.PodLevelResources.DeepCopy(), true
	}
	r, ok := i.ContainerResources[container]
	return *r.DeepCopy(), known && ok
}

// Actuate records that a container has the resources of the pod's spec, also the limits that it has from its pod, whose own change may fail
// afterwards; container "" is the pod itself.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, setActuatedContainerResources.
func (m *Manager) Actuate(pod *v1.Pod, container string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.actuated[pod.UID]
	if !known {
		return nil // never resized
	}
	want := m.infoOf(pod)
	switch r, ok := want.ContainerResources[container]; {
	case container == "" && !apiequality.Semantic.DeepEqual(i.PodLevelResources, want.PodLevelResources):
		i.PodLevelResources = want.PodLevelResources
	case ok && !apiequality.Semantic.DeepEqual(i.ContainerResources[container], want.limited(r)):
		i.ContainerResources[container] = want.limited(r)
	default:
		return nil
	}
	m.actuated[pod.UID] = i
	return m.store()
}

// InProgress reports whether a resize was allocated to the pod and Done has not followed.
func (m *Manager) InProgress(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conditions[uid].progress != nil
}

// Done reports that the whole pod has the resources of its spec. If others were allocated meanwhile, their resize is still in progress.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod, which checks in each sync whether the pod has its allocated resources.
func (m *Manager) Done(ctx context.Context, pod *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed(trace.FromContext(ctx), pod, false)
	progress := m.conditions[pod.UID].progress
	if progress == nil || as(pod, m.allocated[pod.UID]) != pod {
		return
	}
	m.clearProgress(pod.UID)
	m.tell(ctx, pod, v1.EventTypeNormal, "ResizeCompleted", summary(pod, progress.ObservedGeneration, "", "Pod resize completed"))
}

// Failed reports why the pod's allocated resources could not be set. The agent retries.
func (m *Manager) Failed(ctx context.Context, pod *v1.Pod, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed(trace.FromContext(ctx), pod, true)
	if m.setProgress(pod, v1.PodReasonError, message) {
		generation := m.conditions[pod.UID].progress.ObservedGeneration
		m.tell(ctx, pod, v1.EventTypeWarning, "ResizeError", summary(pod, generation, message, "Pod resize error"))
	}
}
