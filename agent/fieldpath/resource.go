package fieldpath

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceValue returns a container's resource request or limit in units of the selector's divisor (1 if unset),
// rounded up. The container is the selector's, or self if the selector has none; otherwise self may be nil. A cpu,
// memory or ephemeral-storage limit that the container does not set reads as the pod-level limit (also in a volume, where
// upstream reads the node's allocatable), then as the node's allocatable (also for a named init container, as documented;
// upstream reads 0 there).
//
// Upstream: pkg/api/v1/resource/helpers.go, ExtractContainerResourceValue; pkg/kubelet/kubelet_resources.go,
// defaultPodLimitsForDownwardAPI.
func ResourceValue(pod *v1.Pod, self *v1.Container, sel *v1.ResourceFieldSelector, allocatable v1.ResourceList) (string, error) {
	c, err := container(pod, self, sel)
	if err != nil {
		return "", err
	}
	kind, name, _ := strings.Cut(sel.Resource, ".")
	res := v1.ResourceName(name)
	var q resource.Quantity
	switch {
	case kind == "limits" && defaulted(res):
		q = limit(pod, c, res, allocatable)
	case kind == "limits" && hugePages(res):
		q = c.Resources.Limits[res]
	case kind == "requests" && (defaulted(res) || hugePages(res)):
		q = c.Resources.Requests[res]
	default:
		return "", &UnsupportedError{
			sel.Resource, "want requests. or limits. followed by cpu, memory, ephemeral-storage or hugepages-SIZE",
		}
	}
	return divide(q, sel.Divisor, res == v1.ResourceCPU), nil
}

func container(pod *v1.Pod, self *v1.Container, sel *v1.ResourceFieldSelector) (*v1.Container, error) {
	if sel.ContainerName == "" {
		if self == nil {
			return nil, &UnsupportedError{sel.Resource, "containerName is required in a volume"}
		}
		return self, nil
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == sel.ContainerName {
			return &pod.Spec.Containers[i], nil
		}
	}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == sel.ContainerName {
			return &pod.Spec.InitContainers[i], nil
		}
	}
	return nil, &UnsupportedError{sel.Resource, fmt.Sprintf("the pod has no container %q", sel.ContainerName)}
}

func limit(pod *v1.Pod, c *v1.Container, res v1.ResourceName, allocatable v1.ResourceList) resource.Quantity {
	if q, ok := c.Resources.Limits[res]; ok && !q.IsZero() {
		return q
	}
	if pod.Spec.Resources != nil && res != v1.ResourceEphemeralStorage {
		if q, ok := pod.Spec.Resources.Limits[res]; ok && !q.IsZero() {
			return q
		}
	}
	return allocatable[res]
}

// divide rounds up. CPU is counted in thousandths, so that a divisor of 1m works.
func divide(q, divisor resource.Quantity, milli bool) string {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	value, unit := q.Value(), divisor.Value()
	if milli {
		value, unit = q.MilliValue(), divisor.MilliValue()
	}
	return strconv.FormatInt(int64(math.Ceil(float64(value)/float64(unit))), 10)
}

func defaulted(res v1.ResourceName) bool {
	return res == v1.ResourceCPU || res == v1.ResourceMemory || res == v1.ResourceEphemeralStorage
}

func hugePages(res v1.ResourceName) bool {
	return strings.HasPrefix(string(res), v1.ResourceHugePagesPrefix)
}
