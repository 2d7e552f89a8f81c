package volume

// Counts are numbers of volumes.
type Counts struct {
	// Desired and Actual are the volumes that pods should have, and those that are set up, by plugin.
	Desired, Actual map[string]int
	// Swept is how many directories of unknown pods the last pass of CleanOrphans removed, SweptErrors how many it could not remove.
	Swept, SweptErrors int
}

// Counts returns the numbers of volumes.
func (m *Manager) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.swept
	out.Desired, out.Actual = map[string]int{}, map[string]int{}
	for _, p := range m.pods {
		if p.released {
			continue
		}
		for k := range p.wanted {
			out.Desired[k.plugin]++
		}
	}
	for k, s := range m.states {
		if s.mounted {
			out.Actual[k.plugin]++
		}
	}
	return out
}
