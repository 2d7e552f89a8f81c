package volume

import (
	"maps"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// Counts are numbers of volumes.
type Counts struct {
	// Desired and Actual are the volumes that pods should have, and those that are set up, by plugin, and driver of CSI.
	Desired, Actual map[string]int
	// Swept is how many directories of unknown pods the last pass of CleanOrphans removed, SweptErrors how many it could not remove.
	Swept, SweptErrors int
	// SELinux counts what SELinux labels did to volumes; it is empty on a node without SELinux.
	SELinux map[selinux.Count]int
}

// Counts returns the numbers of volumes.
func (m *Manager) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.swept
	out.Desired, out.Actual, out.SELinux = map[string]int{}, map[string]int{}, maps.Clone(m.labels)
	for _, p := range m.pods {
		if p.released {
			continue
		}
		for k, w := range p.wanted {
			out.Desired[originOf(w.spec).counted(k.plugin)]++
		}
	}
	for k, s := range m.states {
		if s.mounted {
			out.Actual[s.from.counted(k.plugin)]++
		}
	}
	return out
}
