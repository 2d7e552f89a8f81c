package podruntime

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
)

// restarts reports whether a container is wanted again that is in that state: the
// first of its own rules that its exit code matches, then its own policy, then the pod's.
//
// Upstream: pkg/kubelet/container/helpers.go, ShouldContainerBeRestarted.
func restarts(pod *v1.Pod, c *v1.Container, last *observe.Container) bool {
	if last.State != observe.Exited {
		return true
	}
	policy := pod.Spec.RestartPolicy
	if c.RestartPolicy != nil {
		if ruled(c, last.ExitCode) {
			return true
		}
		policy = v1.RestartPolicy(*c.RestartPolicy)
	}
	switch policy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return last.ExitCode != 0
	case v1.RestartPolicyAlways:
	}
	return true
}

// ruled reports whether one of the container's own rules restarts it.
func ruled(c *v1.Container, code int32) bool { return ruleFor(c, code) != nil }

// ruleFor is the first of the container's own rules that the exit code matches, or nil.
func ruleFor(c *v1.Container, code int32) *v1.ContainerRestartRule {
	for i := range c.RestartPolicyRules {
		r := &c.RestartPolicyRules[i]
		if r.ExitCodes == nil {
			continue
		}
		has := slices.Contains(r.ExitCodes.Values, code)
		switch r.ExitCodes.Operator {
		case v1.ContainerRestartRuleOnExitCodesOpIn:
			if has {
				return r
			}
		case v1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !has {
				return r
			}
		}
	}
	return nil
}

// policyOf is the restart policy that holds for the container, for people.
func policyOf(pod *v1.Pod, c *v1.Container) string {
	if c.RestartPolicy != nil {
		return string(*c.RestartPolicy)
	}
	return string(pod.Spec.RestartPolicy)
}
