package cpus

import (
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
)

// baseline remembers the first CPUs of a container: those that it got at admission.
//
// Upstream: pkg/kubelet/cm/cpumanager/state/state_mem.go, SetCPUSet.
func (m *Manager) baseline(uid, container string, set cpuset.CPUSet) {
	if !m.cfg.Resize {
		return
	}
	if m.content.Baselines == nil {
		m.content.Baselines = state.Assignments{}
	}
	if m.content.Baselines[uid] == nil {
		m.content.Baselines[uid] = map[string]cpuset.CPUSet{}
	}
	if _, known := m.content.Baselines[uid][container]; !known {
		m.content.Baselines[uid][container] = set
	}
}

// forget removes the first CPUs of a container that has none any more.
func (m *Manager) forget(uid, container string) {
	delete(m.content.Baselines[uid], container)
	if len(m.content.Baselines[uid]) == 0 {
		delete(m.content.Baselines, uid)
	}
}

// restoreBaselines makes the baselines of the state complete: a container without one has not been resized, so that it has its first CPUs.
// Without the feature gate, there are none, as upstream.
//
// Upstream: pkg/kubelet/cm/cpumanager/state/state_checkpoint.go, restoreState.
func (m *Manager) restoreBaselines() {
	read := m.content.Baselines
	m.content.Baselines = nil
	for uid, containers := range m.content.Assigned {
		for name, set := range containers {
			first := set
			if b, ok := read[uid][name]; ok && b.IsSubsetOf(set) {
				first = b
			}
			m.baseline(uid, name, first)
		}
	}
}
