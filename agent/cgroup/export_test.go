package cgroup

// SetDirs replaces dirs in tests: the kernel creates files in new cgroups, a plain file system does not.
func (m *Manager) SetDirs(mk, remove func(path string) error) {
	m.fs = dirs{make: mk, remove: remove, set: write}
}

// Refuse replaces how limits are set.
func (m *Manager) Refuse(refused func(file, value string) error) {
	set := m.fs.set
	m.fs.set = func(file, value string) error {
		if err := refused(file, value); err != nil {
			return err
		}
		return set(file, value)
	}
}

// Weighing reports whether the QoS cgroups are being updated.
func (c *Pods) Weighing() bool {
	if !c.weighing.TryLock() {
		return true
	}
	c.weighing.Unlock()
	return false
}
