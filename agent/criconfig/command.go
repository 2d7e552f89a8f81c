package criconfig

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Command expands the references of a probe's command to variables that the container's
// env gives a value in the manifest. What only the node knows stays as written. A command that
// is too long for any program is an error.
//
// Upstream: pkg/kubelet/container/helpers.go, ExpandContainerCommandOnlyStatic.
func Command(command []string, env []v1.EnvVar) ([]string, error) {
	values := make(map[string]string, len(env))
	for i := range env {
		values[env[i].Name] = env[i].Value
	}
	e := expander{lookup: lookupIn(values), left: maxText}
	out, i, ok := e.expandAll(command)
	if !ok {
		return nil, fmt.Errorf("command[%d]: %w", i, tooLongError{maxText})
	}
	return out, nil
}

func lookupIn(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}
