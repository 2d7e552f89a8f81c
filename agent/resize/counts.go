package resize

import "k8s.io/apimachinery/pkg/types"

// Counts returns the pods whose resize is pending, with the reason (Deferred or Infeasible), and the number of those whose resize is in progress.
func (m *Manager) Counts() (pending map[types.UID]string, progress int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pending = map[types.UID]string{}
	for uid, c := range m.conditions {
		if c.pending != nil {
			pending[uid] = c.pending.Reason
		}
		if c.progress != nil {
			progress++
		}
	}
	return pending, progress
}
