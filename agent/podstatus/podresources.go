package podstatus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// podResources sets the pod-level allocated resources and those of its cgroup, which has what was set last. Upstream:
// pkg/kubelet/kubelet_pods.go, convertToAPIPodLevelResourcesStatus, which reads the cgroup.
func (g *generator) podResources(s *v1.PodStatus) {
	requests := resourcehelper.PodRequests(g.pod, g.in.Claims.Options())
	s.AllocatedResources = requests
	out := g.pod.Spec.Resources.DeepCopy()
	if out == nil {
		out = &v1.ResourceRequirements{}
	}
	s.Resources = out
	if s.Phase != v1.PodRunning {
		out.Requests, out.Limits = requests.DeepCopy(), resourcehelper.PodLimits(g.pod, g.in.Claims.Options())
		return
	}
	if out.Requests == nil {
		out.Requests = v1.ResourceList{}
	}
	if out.Limits == nil {
		out.Limits = v1.ResourceList{}
	}
	pod := g.actuated()
	given := qos.PodResources(pod, g.in.Claims, true, qos.DefaultPeriod)
	actual := resourcehelper.PodRequests(pod, g.in.Claims.Options())
	if given.CPUShares <= qos.MinShares {
		delete(actual, v1.ResourceCPU)
	}
	tellLeast(out.Requests, actual, leastRequest)
	if q, ok := requests[v1.ResourceMemory]; ok {
		out.Requests[v1.ResourceMemory] = q
	}
	limits := resourcehelper.PodLimits(pod, g.in.Claims.Options())
	if given.CPUQuota != nil {
		tellLeast(out.Limits, limits, leastLimit)
	} else {
		g.keepLimit(out.Limits, v1.ResourceCPU)
	}
	if q, ok := limits[v1.ResourceMemory]; ok && given.Memory != nil {
		out.Limits[v1.ResourceMemory] = q
	} else {
		g.keepLimit(out.Limits, v1.ResourceMemory)
	}
}

// tellLeast sets CPUs to their actual value, unless that and the allocated one are at most the least that a cgroup can have, in thousandths.
func tellLeast(out, actual v1.ResourceList, least int64) {
	q, allocated := actual[v1.ResourceCPU], out[v1.ResourceCPU]
	switch {
	case q.MilliValue() > least:
		out[v1.ResourceCPU] = q
	case allocated.MilliValue() > least:
		out[v1.ResourceCPU] = *resource.NewMilliQuantity(least, resource.DecimalSI)
	}
}

// keepLimit sets a limit that the cgroup does not have to that of the last status, if there is one.
func (g *generator) keepLimit(out v1.ResourceList, name v1.ResourceName) {
	if g.previous.Phase != v1.PodRunning || g.previous.Resources == nil {
		return
	}
	if q, ok := g.previous.Resources.Limits[name]; ok {
		out[name] = q
	}
}

// actuated returns the pod with the resources that were last set for it and its containers.
func (g *generator) actuated() *v1.Pod {
	if g.in.Actuated == nil {
		return g.pod
	}
	pod := *g.pod
	if r, known := g.in.Actuated(""); known {
		pod.Spec.Resources = nil
		if r.Requests != nil || r.Limits != nil {
			pod.Spec.Resources = &r
		}
	}
	pod.Spec.InitContainers = g.actuatedOf(pod.Spec.InitContainers)
	pod.Spec.Containers = g.actuatedOf(pod.Spec.Containers)
	return &pod
}

// actuatedOf returns copies of containers with the resources that were last set for them.
func (g *generator) actuatedOf(specs []v1.Container) []v1.Container {
	out := append([]v1.Container(nil), specs...)
	for i := range out {
		if r, known := g.in.Actuated(out[i].Name); known {
			out[i].Resources = r
		}
	}
	return out
}
