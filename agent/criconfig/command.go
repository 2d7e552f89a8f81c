package criconfig

import v1 "k8s.io/api/core/v1"

// Command expands the references of a probe's command to variables that the container's
// env gives a value in the manifest. What only the node knows stays as written.
//
// Upstream: pkg/kubelet/container/helpers.go, ExpandContainerCommandOnlyStatic.
func Command(command []string, env []v1.EnvVar) []string {
	return expandAll(command, func(name string) (string, bool) {
		value, found := "", false
		for i := range env {
			if env[i].Name == name {
				value, found = env[i].Value, true
			}
		}
		return value, found
	})
}
