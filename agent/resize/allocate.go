package resize

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Add takes an admitted pod, or a new version of one about whose resize nobody can decide yet. It returns the pod with its allocated
// resources: the spec's, or those from before a restart of the agent. If the two differ, the pod is one of Waiting.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, AddPod.
func (m *Manager) Add(pod *v1.Pod) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.allocated[pod.UID]
	if !known {
		was = m.found(pod)
	}
	allocated := as(pod, was)
	now := m.infoOf(allocated) // also what the checkpoint lacks: another agent may save less
	if !known || !apiequality.Semantic.DeepEqual(was, now) {
		m.allocated[pod.UID] = now
		m.saveLater()
	}
	if _, known := m.conditions[pod.UID]; !known {
		m.recall(pod)
	}
	if allocated != pod {
		m.undecided[pod.UID] = true
	}
	return allocated
}

// found returns the resources of a pod that is in no checkpoint: those in its spec. If that has changed since an agent wrote the pod's status,
// the status has the resources.
func (m *Manager) found(pod *v1.Pod) info {
	seen := pod.Status.ObservedGeneration
	if m.lost || seen != 0 && seen < pod.Generation {
		return m.fromStatus(pod)
	}
	return m.infoOf(pod)
}

// Pod returns the pod with its allocated resources. Workers receive this pod, and it counts when others are admitted.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, UpdatePodFromAllocation.
func (m *Manager) Pod(pod *v1.Pod) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.allocated[pod.UID]
	if !known {
		return pod
	}
	return as(pod, i)
}

// Allocated returns the pod with its allocated resources, false if it has none: it was not admitted, or not yet.
func (m *Manager) Allocated(pod *v1.Pod) (*v1.Pod, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.allocated[pod.UID]
	if !known {
		return nil, false
	}
	return as(pod, i), true
}

// Update takes a pod whose spec may request new resources, or one that waits for free resources, and returns it with its current
// allocation. others are the node's other pods, as allocated; why is what made the agent try it. If pods must be preempted, the resize waits:
// the caller ends them, and calls Update again when they have terminated. Until then, they count, so that no other pod gets what they have.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, handlePodResourcesResize. There, it waits for the end of the preempted pods, and all
// decisions with it.
func (m *Manager) Update(ctx context.Context, pod *v1.Pod, others []*v1.Pod, why trace.ResizeTrigger) (*v1.Pod, Preemption) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.allocated[pod.UID]
	if !known {
		return pod, Preemption{}
	}
	delete(m.undecided, pod.UID)
	allocated := as(pod, was)
	span := trace.FromContext(ctx)
	if allocated == pod { // no resize requested, or it was reverted
		m.waited(span, pod.UID, trace.Resize{End: trace.ResizeReverted, Priority: Priority(pod)})
		m.setPending(pod, "", "")
		return pod, Preemption{}
	}
	var refused Refusal
	if m.cfg.Refuse != nil {
		refused = m.cfg.Refuse(pod, allocated)
	}
	v := Verdict{Reason: v1.PodReasonInfeasible, Message: refused.Message}
	if refused == (Refusal{}) {
		v = m.sparing(pod, others, m.cfg.Admit(pod, others))
	}
	end := func(bool) {}
	if v.Fits && m.cfg.Try != nil {
		tried, never, why := m.cfg.Try(ctx, pod, allocated)
		if tried != nil {
			end = tried
		} else {
			v = Verdict{Reason: v1.PodReasonDeferred, Message: why}
			if never {
				v.Reason = v1.PodReasonInfeasible
			}
		}
	}
	d := trace.Decision{By: trace.ByResize, Subject: pod.Namespace + "/" + pod.Name, Verdict: trace.VerdictResize, Reason: "it fits on the node"}
	if v.Fits {
		before := m.allocated[pod.UID]
		m.allocated[pod.UID] = m.infoOf(pod)
		if _, known := m.actuated[pod.UID]; !known {
			m.actuated[pod.UID] = before
		}
		if err := m.store(); err != nil {
			m.allocated[pod.UID] = before
			end(false)
			m.tell(ctx, pod, v1.EventTypeWarning, "ResizeError", summary(pod, pod.Generation, err.Error(), "Pod resize error"))
			return allocated, Preemption{}
		}
		end(true)
		m.waited(span, pod.UID, trace.Resize{End: trace.ResizeAccepted, Trigger: why, Priority: Priority(pod)})
		m.setPending(pod, "", "")
		m.clearProgress(pod.UID)
		m.setProgress(pod, "", "")
		m.tell(ctx, pod, v1.EventTypeNormal, "ResizeStarted", summary(pod, pod.Generation, "", "Pod resize started"))
		trace.Point(m.cfg.Bus, span, d)
		return pod, Preemption{}
	}
	condition, event := v1.PodReasonDeferred, "ResizeDeferred"
	d.Verdict, d.Reason = trace.VerdictDeferred, v.Message
	if v.Reason == v1.PodReasonInfeasible {
		condition, event = v.Reason, "ResizeInfeasible"
		d.Verdict = trace.VerdictInfeasible
		m.waited(span, pod.UID, trace.Resize{End: trace.ResizeHopeless, Priority: Priority(pod)})
	} else {
		m.wait(pod)
	}
	if m.setPending(pod, condition, v.Message) {
		if refused.Ground != "" {
			trace.Point(m.cfg.Bus, span, trace.Resize{Op: trace.ResizeRefused, Ground: refused.Ground})
		}
		m.tell(ctx, pod, v1.EventTypeWarning, event, summary(pod, pod.Generation, v.Message, "Pod resize "+v.Reason))
		trace.Point(m.cfg.Bus, span, d)
	}
	return allocated, v.Preemption
}

// infoOf returns the resources that a pod's spec requests.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, ResourceInfoForPod.
func (m *Manager) infoOf(pod *v1.Pod) info {
	i := infoOf(pod)
	if m.cfg.Volumes {
		i.EmptyDirVolumeLimits = limitsOf(pod)
	}
	return i
}

// infoOf returns the resources of the pod and its containers.
func infoOf(pod *v1.Pod) info {
	i := info{ContainerResources: map[string]v1.ResourceRequirements{}, PodLevelResources: pod.Spec.Resources.DeepCopy()}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for j := range list {
			i.ContainerResources[list[j].Name] = *list[j].Resources.DeepCopy()
		}
	}
	return i
}

// as returns the pod with those resources; the pod itself if it has them.
func as(pod *v1.Pod, i info) *v1.Pod {
	out := pod
	own := func() *v1.Pod {
		if out == pod {
			out = pod.DeepCopy()
		}
		return out
	}
	if !apiequality.Semantic.DeepEqual(pod.Spec.Resources, i.PodLevelResources) {
		own().Spec.Resources = i.PodLevelResources.DeepCopy()
	}
	for j := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[j]
		if r, ok := i.ContainerResources[c.Name]; ok && !apiequality.Semantic.DeepEqual(c.Resources, r) {
			own().Spec.InitContainers[j].Resources = *r.DeepCopy()
		}
	}
	for j := range pod.Spec.Containers {
		c := &pod.Spec.Containers[j]
		if r, ok := i.ContainerResources[c.Name]; ok && !apiequality.Semantic.DeepEqual(c.Resources, r) {
			own().Spec.Containers[j].Resources = *r.DeepCopy()
		}
	}
	i.limit(pod, own)
	return out
}
