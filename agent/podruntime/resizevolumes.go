package podruntime

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// volumesToResize returns the volumes in memory whose size limit is smaller and larger in the pod's spec than the one that they have. limit is
// nil if limits do not change.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, computeVolumeResizeAction.
func volumesToResize(pod *v1.Pod, limit func(volume string) (resource.Quantity, bool)) (smaller, larger []string) {
	if limit == nil {
		return nil, nil
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !podspec.LimitedMemoryVolume(v) {
			continue
		}
		has, known := limit(v.Name)
		switch c := v.EmptyDir.SizeLimit.Cmp(has); {
		case !known || c == 0:
		case c < 0:
			smaller = append(smaller, v.Name)
		default:
			larger = append(larger, v.Name)
		}
	}
	return smaller, larger
}

func (r *Runtime) limits(uid types.UID) func(volume string) (resource.Quantity, bool) {
	return func(name string) (resource.Quantity, bool) { return r.cfg.Resizes.Limit(uid, name) }
}

// resizeVolumes changes the size limits of volumes in memory: before the limits of the cgroups change, those that become smaller, after that
// the others. So a full volume never exceeds the pod's limit.
//
// Upstream: doPodResizeAction.
func (r *run) resizeVolumes(step string) error {
	if r.cfg.ResizeVolume == nil {
		return nil
	}
	names, larger := volumesToResize(r.pod, r.limits(r.pod.UID))
	if step == stepSettle {
		names = larger
	}
	for _, name := range names {
		if err := r.cfg.ResizeVolume(r.pod, name); err != nil {
			return err
		}
		if err := r.cfg.Resizes.Limited(r.pod, name); err != nil {
			return err
		}
	}
	return nil
}
