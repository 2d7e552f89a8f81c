package resize

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// limitsOf returns the size limits of the pod's emptyDir volumes in memory, by name; nil if there are none.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, ResourceInfoForPod.
func limitsOf(pod *v1.Pod) map[string]*resource.Quantity {
	var out map[string]*resource.Quantity
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !podspec.LimitedMemoryVolume(v) {
			continue
		}
		if out == nil {
			out = map[string]*resource.Quantity{}
		}
		out[v.Name] = new(v.EmptyDir.SizeLimit.DeepCopy())
	}
	return out
}

// limit sets the size limits of the pod's volumes in memory. own returns the pod that may be changed.
//
// Upstream: updateEmptyDirVolumeLimitsFromAllocation.
func (i info) limit(pod *v1.Pod, own func() *v1.Pod) {
	for j := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[j]
		limit := i.EmptyDirVolumeLimits[v.Name]
		if limit != nil && podspec.LimitedMemoryVolume(v) && limit.Cmp(*v.EmptyDir.SizeLimit) != 0 {
			own().Spec.Volumes[j].EmptyDir.SizeLimit = new(limit.DeepCopy())
		}
	}
}

// ignoreLimits removes the size limits from checkpoints of an agent that had the feature gate.
func ignoreLimits(checkpoints ...map[types.UID]info) {
	for _, all := range checkpoints {
		for uid, i := range all {
			i.EmptyDirVolumeLimits = nil
			all[uid] = i
		}
	}
}

// Limit returns the size limit that a volume in memory has; false if the pod or the volume is not known. It is 0 if the pod was resized by an
// agent without the feature gate: the limit must be set again.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, getActuatedEmptyDirVolumeLimit.
func (m *Manager) Limit(uid types.UID, volume string) (resource.Quantity, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit, known := m.allocated[uid].EmptyDirVolumeLimits[volume]
	if given, resized := m.actuated[uid]; known && resized {
		limit = given.EmptyDirVolumeLimits[volume]
	}
	if limit == nil {
		return resource.Quantity{}, known
	}
	return limit.DeepCopy(), known
}

// Limited records that a volume in memory has the size limit of the pod's spec.
func (m *Manager) Limited(pod *v1.Pod, volume string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.actuated[pod.UID]
	limit := limitsOf(pod)[volume]
	if !known || limit == nil {
		return nil // never resized
	}
	if i.EmptyDirVolumeLimits == nil {
		i.EmptyDirVolumeLimits = map[string]*resource.Quantity{}
	}
	i.EmptyDirVolumeLimits[volume] = limit
	m.actuated[pod.UID] = i
	return m.store()
}
