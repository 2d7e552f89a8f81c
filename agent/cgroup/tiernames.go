package cgroup

// Tiers returns the cgroups of all pods together, which comes first, and of burstable and best-effort pods, for example
// /kubepods and /kubepods/burstable; none for a nil Manager.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, GetPodCgroupRoot.
func (m *Manager) Tiers() (out []string) {
	if m == nil {
		return nil
	}
	for _, tier := range tiers() {
		out = append(out, m.name(tier...))
	}
	return out
}
