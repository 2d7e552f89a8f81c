package cgroup

// SetDirs lets a test stand in for the kernel, which fills new cgroups with files.
func (m *Manager) SetDirs(mk, remove func(path string) error) { m.fs = dirs{make: mk, remove: remove} }
