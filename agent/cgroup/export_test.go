package cgroup

// SetDirs replaces dirs in tests: the kernel creates files in new cgroups, a plain file system does not.
func (m *Manager) SetDirs(mk, remove func(path string) error) { m.fs = dirs{make: mk, remove: remove} }
