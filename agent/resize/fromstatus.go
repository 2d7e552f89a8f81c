package resize

import v1 "k8s.io/api/core/v1"

// fromStatus returns the allocated resources in a pod's status. What the status lacks, such as sizes of volumes, is the spec's.
func (m *Manager) fromStatus(pod *v1.Pod) info {
	i := m.infoOf(pod)
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for j := range list {
			s := &list[j]
			if r, ok := i.ContainerResources[s.Name]; ok {
				i.ContainerResources[s.Name] = earlier(r, s.AllocatedResources, s.Resources, nil)
			}
		}
	}
	if i.PodLevelResources != nil {
		*i.PodLevelResources = earlier(*i.PodLevelResources, pod.Status.AllocatedResources, pod.Status.Resources, pod.Spec.Overhead)
	}
	return i
}

// earlier returns the resources of a spec with the amounts of a status, which include the overhead.
func earlier(spec v1.ResourceRequirements, allocated v1.ResourceList, actual *v1.ResourceRequirements, overhead v1.ResourceList) v1.ResourceRequirements {
	if allocated != nil || actual != nil {
		spec.Requests = amountsIn(allocated, spec.Requests, overhead)
	}
	if actual != nil {
		spec.Limits = amountsIn(actual.Limits, spec.Limits, overhead)
	}
	return spec
}

// amountsIn returns a spec's amounts of CPU and memory as in a status. A resize can add an amount, but not remove one: what only the status has
// is from the pod-level resources.
func amountsIn(status, spec, overhead v1.ResourceList) v1.ResourceList {
	spec = spec.DeepCopy()
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		amount, was := status[name]
		_, is := spec[name]
		switch {
		case is && was:
			amount.Sub(overhead[name])
			spec[name] = amount
		case is:
			delete(spec, name)
		}
	}
	return spec
}
