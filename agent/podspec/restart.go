package podspec

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ShouldRestart reports whether a container that exited with this exit code must be restarted: its own restart rules decide, then
// its own policy, then the pod's. Upstream: pkg/api/v1/pod/util.go, ContainerShouldRestart.
func ShouldRestart(spec *v1.PodSpec, c *v1.Container, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return restart(string(spec.RestartPolicy), exitCode)
	}
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes != nil && matches(rule.ExitCodes, exitCode) {
			if rule.Action == v1.ContainerRestartRuleActionRestart || rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
			break
		}
	}
	return restart(string(*c.RestartPolicy), exitCode)
}

// RestartsAll reports whether the container's own rules restart all containers of the pod if it exits with that code.
// Upstream: pkg/api/v1/pod/util.go, FindMatchingContainerRestartRule.
func RestartsAll(c *v1.Container, exitCode int32) bool {
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes != nil && matches(rule.ExitCodes, exitCode) {
			return rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
		}
	}
	return false
}

// CouldRestartAll reports whether any container has a rule that restarts all containers of the pod.
func CouldRestartAll(spec *v1.PodSpec) bool {
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for _, rule := range list[i].RestartPolicyRules {
				if rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
					return true
				}
			}
		}
	}
	return false
}

// restart applies a policy; the container's and the pod's have the same values.
func restart(policy string, exitCode int32) bool {
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

func matches(rule *v1.ContainerRestartRuleOnExitCodes, exitCode int32) bool {
	in := slices.Contains(rule.Values, exitCode)
	switch rule.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return in
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !in
	}
	return false
}
