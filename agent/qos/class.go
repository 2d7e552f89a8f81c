package qos

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Class returns the pod's QoS class: the one that the API server recorded at creation, otherwise the computed one. The
// class is part of the pod's cgroup name, so it must not change during its life.
//
// Upstream: pkg/apis/core/v1/helper/qos/qos.go, GetPodQOS.
func Class(pod *v1.Pod) v1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return Compute(pod)
}

// Compute computes the QoS class from the spec only: from the pod-level resources, if they are set; otherwise it is the
// class of all containers, including init containers, or Burstable if they differ.
//
// Upstream: pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS.
func Compute(pod *v1.Pod) v1.PodQOSClass {
	if resource.IsPodLevelResourcesSet(pod) {
		return classOf(pod.Spec.Resources)
	}
	var class v1.PodQOSClass
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			class = merge(class, classOf(&list[i].Resources))
		}
	}
	if class == "" {
		return v1.PodQOSBestEffort
	}
	return class
}

func classOf(r *v1.ResourceRequirements) v1.PodQOSClass {
	var class v1.PodQOSClass
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			return v1.PodQOSBurstable
		case request.IsZero():
			class = merge(class, v1.PodQOSBestEffort)
		default:
			class = merge(class, v1.PodQOSGuaranteed)
		}
	}
	return class
}

// merge returns the class of two together; "" is the neutral element.
func merge(a, b v1.PodQOSClass) v1.PodQOSClass {
	if a == "" || a == b {
		return b
	}
	return v1.PodQOSBurstable
}
