package memory

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// concerns reports whether containers of the pod get memory: those of Guaranteed pods. Pods with pod-level resources do not: that needs the
// feature gate PodLevelResourceManagers.
func concerns(pod *v1.Pod) bool {
	return qos.Class(pod) == v1.PodQOSGuaranteed && !resourcehelper.IsPodLevelResourcesSet(pod)
}

// wanted returns what the container requests.
//
// Upstream: pkg/kubelet/cm/memorymanager/policy_static.go, getContainerRequestedResources.
func wanted(c *v1.Container) (amounts, error) {
	out := amounts{}
	for name, q := range c.Resources.Requests {
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

// wantedByPod returns what the containers of the pod request at most at the same time. A resource that only init containers request is
// left out, as upstream.
//
// Upstream: getPodRequestedResources; KEP-753 for sidecars.
func wantedByPod(pod *v1.Pod) (amounts, error) {
	sidecars, inits, apps := amounts{}, amounts{}, amounts{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		of, err := wanted(c)
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
		of, err := wanted(&pod.Spec.Containers[i])
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
