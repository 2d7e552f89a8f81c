package memory

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// concerns reports whether containers of the pod get memory: those of Guaranteed pods. Pods with pod-level resources need the feature gate
// PodLevelResourceManagers.
func (m *Manager) concerns(pod *v1.Pod) bool {
	return m.static && qos.Class(pod) == v1.PodQOSGuaranteed && (m.cfg.PodLevel || !resourcehelper.IsPodLevelResourcesSet(pod))
}

// wanted returns what the container requests for itself. Of a pod with pod-level resources, the container must be Guaranteed too.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, getContainerRequestedResources.
func (m *Manager) wanted(pod *v1.Pod, c *v1.Container) (amounts, error) {
	if m.level(pod) && !qos.GuaranteedContainer(c) {
		return amounts{}, nil
	}
	return requested(c.Resources.Requests)
}

// requested returns memory and huge pages of requests.
func requested(of v1.ResourceList) (amounts, error) {
	out := amounts{}
	for name, q := range of {
		if !managed(name) {
			continue
		}
		bytes, ok := q.AsInt64()
		if !ok || bytes < 0 {
			return nil, fmt.Errorf("[memorymanager] failed to represent quantity as int64: %s: %s", name, q.String())
		}
		out[name] = uint64(bytes)
	}
	return out, nil
}

// wantedByPod returns what the containers of the pod request at most at the same time or, if it has pod-level resources, these. A resource
// that only init containers request is left out, as upstream.
//
// Upstream: getPodRequestedResources; KEP-753 for sidecars.
func (m *Manager) wantedByPod(pod *v1.Pod) (amounts, error) {
	if m.level(pod) {
		out, err := requested(pod.Spec.Resources.Requests)
		maps.DeleteFunc(out, func(_ v1.ResourceName, n uint64) bool { return n == 0 })
		return out, err
	}
	sidecars, inits, apps := amounts{}, amounts{}, amounts{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		of, err := m.wanted(pod, c)
		if err != nil {
			return nil, err
		}
		for name, n := range of {
			if podspec.RestartableInit(c) {
				sidecars[name] += n
			} else {
				inits[name] = max(inits[name], sidecars[name]+n)
			}
		}
	}
	for i := range pod.Spec.Containers {
		of, err := m.wanted(pod, &pod.Spec.Containers[i])
		if err != nil {
			return nil, err
		}
		for name, n := range of {
			apps[name] += n
		}
	}
	for name := range apps {
		apps[name] = max(apps[name]+sidecars[name], inits[name])
	}
	return apps, nil
}
