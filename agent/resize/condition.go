package resize

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Conditions returns the conditions of the pod's resize, for its status.
func (m *Manager) Conditions(uid types.UID) []v1.PodCondition {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []v1.PodCondition
	for _, c := range []*v1.PodCondition{m.conditions[uid].pending, m.conditions[uid].progress} {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// recall takes over the conditions that an earlier agent wrote: that of a pending resize if it still is. One that was in progress is so until Done:
// the containers may have what they should have, and the pod's cgroup not. Called with mu.
//
// Upstream: pkg/kubelet/status/status_manager.go, BackfillPodResizeConditions.
func (m *Manager) recall(pod *v1.Pod) {
	var said conditions
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodResizePending {
			said.pending = &c
		}
		if c.Type == v1.PodResizeInProgress {
			said.progress = &c
		}
	}
	allocated := m.allocated[pod.UID]
	if as(pod, allocated) == pod {
		said.pending = nil
	}
	m.conditions[pod.UID] = said
	if c := said.pending; c != nil && c.Reason == v1.PodReasonDeferred {
		m.waiting[pod.UID] = wait{pod: podspec.Ref(pod), since: c.LastTransitionTime.Time}
	}
	if given, known := m.actuated[pod.UID]; known && given.differs(allocated) {
		m.setProgress(pod, "", "")
	}
}

// differs reports whether the pod, or one of its containers with known resources, needs other resources.
func (i info) differs(want info) bool {
	for name, r := range i.ContainerResources {
		w, ok := want.ContainerResources[name]
		if ok && !apiequality.Semantic.DeepEqual(i.limited(r), want.limited(w)) {
			return true
		}
	}
	for name, limit := range i.EmptyDirVolumeLimits {
		if w, ok := want.EmptyDirVolumeLimits[name]; ok && !apiequality.Semantic.DeepEqual(limit, w) {
			return true
		}
	}
	return !apiequality.Semantic.DeepEqual(i.PodLevelResources, want.PodLevelResources)
}

// limited returns a container's resources with the pod-level limits that apply to it. Upstream's kubelet writes them
// into the actuated resources, not into the allocated ones.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, setActuatedContainerResources.
func (i info) limited(r v1.ResourceRequirements) v1.ResourceRequirements {
	if i.PodLevelResources == nil {
		return r
	}
	limits := r.Limits.DeepCopy()
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limit, ofPod := i.PodLevelResources.Limits[name]
		if _, own := limits[name]; ofPod && !own {
			if limits == nil {
				limits = v1.ResourceList{}
			}
			limits[name] = limit
		}
	}
	r.Limits = limits
	return r
}

// setPending sets the condition, or without a reason clears it, and reports whether it changed. Called with mu.
// Upstream: pkg/kubelet/status/status_manager.go, SetPodResizePendingCondition.
func (m *Manager) setPending(pod *v1.Pod, reason, message string) bool {
	all := m.conditions[pod.UID]
	old := all.pending
	if all.pending = nil; reason != "" {
		all.pending = condition(v1.PodResizePending, old, reason, message, pod.Generation)
	}
	m.conditions[pod.UID] = all
	return all.pending != nil && (old == nil || old.Reason != reason || old.ObservedGeneration != pod.Generation)
}

// setProgress sets the condition that a resize is in progress, or how it failed. An earlier failure stays until it is
// cleared. Called with mu.
func (m *Manager) setProgress(pod *v1.Pod, reason, message string) (news bool) {
	all := m.conditions[pod.UID]
	old, generation := all.progress, pod.Generation
	if old != nil {
		generation = old.ObservedGeneration
		if reason == "" {
			reason, message = old.Reason, old.Message
		}
	}
	all.progress = condition(v1.PodResizeInProgress, old, reason, message, generation)
	m.conditions[pod.UID] = all
	return old == nil || old.Reason != reason || old.Message != message
}

// clearProgress clears the condition. Called with mu.
func (m *Manager) clearProgress(uid types.UID) {
	all := m.conditions[uid]
	all.progress = nil
	m.conditions[uid] = all
}

func condition(kind v1.PodConditionType, old *v1.PodCondition, reason, message string, generation int64) *v1.PodCondition {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	c := &v1.PodCondition{
		Type: kind, Status: v1.ConditionTrue, Reason: reason, Message: message,
		LastProbeTime: now, LastTransitionTime: now, ObservedGeneration: generation,
	}
	if old != nil && old.Reason == reason {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return c
}

// whole returns the resources with the limits that containers have from their pod.
func (i info) whole() info {
	if i.PodLevelResources == nil {
		return i
	}
	all := make(map[string]v1.ResourceRequirements, len(i.ContainerResources))
	for name, r := range i.ContainerResources {
		all[name] = i.limited(r)
	}
	i.ContainerResources = all
	return i
}

func (m *Manager) tell(ctx context.Context, pod *v1.Pod, kind, reason, message string) {
	if m.cfg.Events != nil {
		m.cfg.Events.Pod(ctx, pod, "", kind, reason, message)
		return
	}
	trace.Point(m.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod)), trace.NodeEvent{Type: trace.EventType(kind), Reason: reason, Message: message})
}

// summary returns an event's message, which tools parse: the resources of every container, and the generation of
// the resize, which may not be the pod's newest. Upstream:
// pkg/kubelet/events/resize.go.
func summary(pod *v1.Pod, generation int64, failure, words string) string {
	type container struct {
		Name      string                  `json:"name"`
		Resources v1.ResourceRequirements `json:"resources"`
	}
	var s struct {
		InitContainers []container `json:"initContainers,omitempty"`
		Containers     []container `json:"containers,omitempty"`
		Generation     int64       `json:"generation"`
		Error          string      `json:"error,omitempty"`
	}
	s.Generation, s.Error = generation, failure
	for i := range pod.Spec.InitContainers {
		s.InitContainers = append(s.InitContainers, container{pod.Spec.InitContainers[i].Name, pod.Spec.InitContainers[i].Resources})
	}
	for i := range pod.Spec.Containers {
		s.Containers = append(s.Containers, container{pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Resources})
	}
	text, err := json.Marshal(s)
	if err != nil {
		return words
	}
	return words + ": " + string(text)
}
