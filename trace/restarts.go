package trace

// PodRestarts is how often a pod's containers were restarted, as kubectl get pods counts: until its init containers have
// completed, these; then the main containers and the sidecars, which are init containers that sidecar names.
func PodRestarts(all []ContainerStatus, initialized bool, sidecar func(name string) bool) int {
	n := 0
	for i := range all {
		c := &all[i]
		counts := initialized
		if c.Init {
			counts = !initialized || sidecar(c.Name)
		}
		if counts && !c.Ephemeral {
			n += c.Restarts
		}
	}
	return n
}
