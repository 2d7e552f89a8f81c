package eviction

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Reason is the reason in the status and the Event of an evicted pod.
const Reason = "Evicted"

// The annotations of the Event of an evicted pod.
//
// Upstream: pkg/kubelet/eviction/helpers.go.
const (
	offendingContainers = "offending_containers"
	offendingUsage      = "offending_containers_usage"
	offendingPod        = "offending_pod"
	offendingPodUsage   = "offending_pod_usage"
	starvedResource     = "starved_resource"
)

// message returns the message in the status and the Event of a pod that is evicted for a threshold, and the Event's annotations. Tools
// match the message, so it is upstream's to the letter.
//
// Upstream: pkg/kubelet/eviction/helpers.go, evictionMessage.
func message(t *Threshold, seen observation, r *ranked) (text string, annotations map[string]string) {
	name := resourceOf(t.Signal)
	format := resource.BinarySI
	if t.Signal.Unit() != trace.UnitBytes {
		format = resource.DecimalSI
	}
	amount := func(n int64) string { return resource.NewQuantity(n, format).String() }
	text = fmt.Sprintf("The node was low on resource: %v. Threshold quantity: %s, available: %s. ", name, t.Free.text(seen.capacity), amount(seen.available))
	if r.stats == nil {
		return text, map[string]string{}
	}
	annotations = map[string]string{starvedResource: string(name)}
	if p := r.pod.Spec.Resources; name == v1.ResourceMemory && p != nil && r.stats.Memory != nil {
		if request, ok := p.Requests[name]; ok {
			used := amount(memoryOf(r.stats.Memory))
			text += fmt.Sprintf("Pod %s was using %s, request is %s, has larger consumption of %v. ", r.pod.Name, used, request.String(), name)
			annotations[offendingPod], annotations[offendingPodUsage] = r.pod.Name, used
		}
	}
	var over, usage []string
	for i := range r.stats.Containers {
		c := &r.stats.Containers[i]
		spec := containerOf(r.pod, c.Name)
		used, known := containerUsage(name, c)
		if spec == nil || !known {
			continue
		}
		request := spec.Resources.Requests[name]
		if used > request.Value() {
			text += fmt.Sprintf("Container %s was using %s, request is %s, has larger consumption of %v. ", c.Name, amount(used), request.String(), name)
			over, usage = append(over, c.Name), append(usage, amount(used))
		}
	}
	annotations[offendingContainers], annotations[offendingUsage] = strings.Join(over, ","), strings.Join(usage, ",")
	return text, annotations
}

// containerOf returns the container of that name in a pod's spec; nil for an ephemeral one, which can request nothing.
func containerOf(pod *v1.Pod, name string) *v1.Container {
	for c := range podspec.Each(pod) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// containerUsage returns what a container uses of a resource, if it is known.
func containerUsage(name v1.ResourceName, c *statsapi.ContainerStats) (used int64, known bool) {
	if name == v1.ResourceMemory {
		return memoryOf(c.Memory), c.Memory != nil && c.Memory.WorkingSetBytes != nil
	}
	known = name == v1.ResourceEphemeralStorage && c.Rootfs != nil && c.Rootfs.UsedBytes != nil && c.Logs != nil && c.Logs.UsedBytes != nil
	if !known {
		return 0, false
	}
	return value(c.Rootfs.UsedBytes) + value(c.Logs.UsedBytes), true
}
