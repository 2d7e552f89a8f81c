package volume

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// allowed returns an error if a persistent volume may not be mounted on this node, or for this pod.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateMountVolumeFunc.
func (m *Manager) allowed(j job) error {
	pv := j.want.spec.PV
	if pv == nil || j.adopt {
		return nil
	}
	stage := "MountVolume"
	if j.key.block {
		stage = "MapVolume"
	}
	if m.cfg.NodeLabels != nil && pv.Spec.NodeAffinity != nil {
		if err := storagehelpers.CheckNodeAffinity(pv, m.cfg.NodeLabels()); err != nil {
			return &StageError{Stage: stage + ".NodeAffinity check", Err: err}
		}
	}
	if modes := pv.Spec.AccessModes; len(modes) == 1 && modes[0] == v1.ReadWriteOncePod && m.elsewhere(j.key) {
		return &StageError{Stage: stage + ".SetUp", Err: errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")}
	}
	return nil
}

// elsewhere reports whether another pod has the persistent volume.
func (m *Manager) elsewhere(k key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, s := range m.states {
		if other.uid != k.uid && other.plugin == k.plugin && other.name == k.name && (s.mounted || s.found) {
			return true
		}
	}
	return false
}
