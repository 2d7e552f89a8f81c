package eviction

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// exceeded is a limit with the figures.
type exceeded struct {
	limit       trace.Signal
	used, allow int64
	message     string
	volume      *v1.Volume // of the limit of a volume
}

// limited reports whether a pod has a limit of local storage. That of a container may be 0: then the pod may use nothing.
func limited(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if sizeLimit(&pod.Spec.Volumes[i]) != nil {
			return true
		}
	}
	for c := range podspec.Each(pod) {
		if _, has := c.Resources.Limits[v1.ResourceEphemeralStorage]; has {
			return true
		}
	}
	return false
}

// sizeLimit returns the limit of an emptyDir volume, unless the kernel enforces it, as it does in memory; nil for none.
func sizeLimit(v *v1.Volume) *apiresource.Quantity {
	if e := v.EmptyDir; e != nil && e.Medium != v1.StorageMediumMemory && e.SizeLimit != nil && e.SizeLimit.Sign() > 0 {
		return e.SizeLimit
	}
	return nil
}

// exceeds returns the first limit of local storage that a pod exceeds: of a volume, of the pod, of a container. The layers of containers
// count where they are on the agent's file system. A volume in memory has its limit from the kernel.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, localStorageEviction.
func exceeds(pod *v1.Pod, l Layout, st *statsapi.PodStats) (exceeded, bool) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		limit := sizeLimit(v)
		if used := fsBytes(volumeOf(st, v.Name)); limit != nil && used > limit.Value() {
			e := over(trace.SignalEmptyDirLimit, used, limit, "Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name)
			e.volume = v
			return e, true
		}
	}
	if limit, ok := resource.PodLimits(pod, resource.PodResourcesOptions{})[v1.ResourceEphemeralStorage]; ok && st.EphemeralStorage != nil {
		if used := value(st.EphemeralStorage.UsedBytes); used > limit.Value() {
			message := fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
			return exceeded{limit: trace.SignalPodLimit, used: used, allow: limit.Value(), message: message}, true
		}
	}
	for i := range st.Containers {
		c := &st.Containers[i]
		limit := limitOf(pod, c.Name)
		if limit.Sign() <= 0 {
			continue
		}
		used := fsBytes(c.Logs)
		if l == OneFS {
			used += fsBytes(c.Rootfs)
		}
		if used > limit.Value() {
			return over(trace.SignalContainerLimit, used, limit, "Container %s exceeded its local ephemeral storage limit %q. ", c.Name), true
		}
	}
	return exceeded{}, false
}

func over(l trace.Signal, used int64, allow *apiresource.Quantity, format, name string) exceeded {
	return exceeded{limit: l, used: used, allow: allow.Value(), message: fmt.Sprintf(format, name, allow.String())}
}

// limitOf returns the limit of a container or a sidecar; other init containers have none.
func limitOf(pod *v1.Pod, name string) *apiresource.Quantity {
	for c, long := range podspec.Each(pod) {
		if long && c.Name == name {
			return c.Resources.Limits.StorageEphemeral()
		}
	}
	return &apiresource.Quantity{}
}

func fsBytes(fs *statsapi.FsStats) int64 {
	if fs == nil {
		return 0
	}
	return value(fs.UsedBytes)
}
