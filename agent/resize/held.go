package resize

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Held returns the pod as it counts when others are admitted or resized: with its allocated resources or, while it is resized, with those that
// it was last given, if these request more. So what a pod gives back is not given away before it has given it back: a smaller limit of memory
// is refused as long as the pod uses more.
//
// Upstream: pkg/scheduler/framework/types.go, CalculateResource, which takes them from the pod's status.
func (m *Manager) Held(pod *v1.Pod) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.allocated[pod.UID]
	if !known {
		return pod
	}
	allocated := as(pod, i)
	given, resized := m.actuated[pod.UID]
	if !resized || m.conditions[pod.UID].progress == nil {
		return allocated
	}
	has := as(pod, given)
	wants, still := resourcehelper.PodRequests(allocated, resourcehelper.PodResourcesOptions{}), resourcehelper.PodRequests(has, resourcehelper.PodResourcesOptions{})
	out := allocated
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if want, is := wants[name], still[name]; is.Cmp(want) <= 0 {
			continue
		}
		if out == allocated {
			out = allocated.DeepCopy()
		}
		request(out, has, name)
	}
	return out
}

// request has the pod, and its containers, request as much of a resource as another version of it.
func request(pod, like *v1.Pod, name v1.ResourceName) {
	set := func(to *v1.ResourceRequirements, from v1.ResourceRequirements) {
		q, has := from.Requests[name]
		switch {
		case !has:
			delete(to.Requests, name)
		case to.Requests == nil:
			to.Requests = v1.ResourceList{name: q}
		default:
			to.Requests[name] = q
		}
	}
	for i := range pod.Spec.Containers {
		set(&pod.Spec.Containers[i].Resources, like.Spec.Containers[i].Resources)
	}
	for i := range pod.Spec.InitContainers {
		set(&pod.Spec.InitContainers[i].Resources, like.Spec.InitContainers[i].Resources)
	}
	if pod.Spec.Resources == nil && like.Spec.Resources == nil {
		return
	}
	if pod.Spec.Resources == nil {
		pod.Spec.Resources = &v1.ResourceRequirements{}
	}
	var level v1.ResourceRequirements
	if like.Spec.Resources != nil {
		level = *like.Spec.Resources
	}
	set(pod.Spec.Resources, level)
}
