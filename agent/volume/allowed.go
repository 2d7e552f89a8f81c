package volume

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1"
)

// allowed returns an error if a persistent volume may not be mounted on this node, or for this pod.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateMountVolumeFunc.
func (m *Manager) allowed(j job) error {
	pv := j.want.spec.PV
	if pv == nil || j.adopt {
		return nil
	}
	stage, setUp := "MountVolume", ".SetUp"
	if j.key.block {
		stage, setUp = "MapVolume", ".SetUpDevice"
	}
	if m.cfg.NodeLabels != nil {
		if err := fits(pv.Spec.NodeAffinity, m.cfg.NodeLabels()); err != nil {
			return &StageError{Stage: stage + ".NodeAffinity check", Reason: reasonFailedMount, Err: err}
		}
	}
	if _, fixed := j.want.plugin.(Fixed); fixed && !j.key.block && len(MountOptions(j.want.spec)) > 0 {
		return &StageError{Stage: stage + ".MountOptionSupport check", Err: errors.New("mount options are not supported for this volume type")}
	}
	if modes := pv.Spec.AccessModes; len(modes) == 1 && modes[0] == v1.ReadWriteOncePod && !m.claimSole(j.key) {
		return &StageError{Stage: stage + setUp, Err: errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")}
	}
	return nil
}

// fits returns an error if a volume is not for a node with these labels.
//
// Upstream: component-helpers, storage/volume/helpers.go, CheckNodeAffinity. That package links every API group.
func fits(a *v1.VolumeNodeAffinity, labels map[string]string) error {
	if a == nil || a.Required == nil {
		return nil
	}
	ok, err := corev1.MatchNodeSelectorTerms(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, a.Required)
	if err == nil && !ok {
		err = errors.New("no matching NodeSelectorTerms")
	}
	return err
}

// claimSole reports whether no other pod has the persistent volume, or is setting it up. If so, none may while this setup runs.
//
// Upstream: pkg/kubelet/volumemanager/cache/actual_state_of_world.go, IsVolumeMountedElsewhere.
func (m *Manager) claimSole(k key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, s := range m.states {
		if other.uid != k.uid && other.plugin == k.plugin && other.name == k.name && (s.mounted || s.found || s.sole) {
			return false
		}
	}
	m.states[k].sole = true
	return true
}
