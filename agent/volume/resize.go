package volume

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Resize gives a mounted volume of the pod, by name, the size limit of the pod's spec. It waits for no other operation: only the worker of
// a pod with running containers calls it.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, ResizeEphemeralVolume.
func (m *Manager) Resize(pod *v1.Pod, name string) error {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Name != name {
			continue
		}
		s := Spec{Pod: pod, Volume: v}
		p := m.pluginOf(s)
		limits, ok := p.(LimitPlugin)
		if !ok {
			return fmt.Errorf("volume %s cannot be resized: must be an emptyDir", name)
		}
		s.Place = m.place(key{uid: pod.UID, plugin: p.Name(), name: name})
		if err := limits.Resize(s); err != nil {
			return fmt.Errorf("resize volume %s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("resize volume %s: the pod has no such volume", name)
}
