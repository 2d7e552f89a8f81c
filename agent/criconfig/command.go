package criconfig

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Command expands references in a probe's command to variables whose value is in the manifest. Other references remain as written.
// A command that is too long for any program is an error.
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
