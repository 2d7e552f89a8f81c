package podruntime

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// restarts reports whether a container in that state should run again.
//
// Upstream: pkg/kubelet/container/helpers.go, ShouldContainerBeRestarted.
func restarts(pod *v1.Pod, c *v1.Container, last *podstate.Container) bool {
	return last.State != podstate.Exited || podspec.ShouldRestart(&pod.Spec, c, last.ExitCode)
}

// policyOf returns the effective restart policy of the container, for people.
func policyOf(pod *v1.Pod, c *v1.Container) string {
	if c.RestartPolicy != nil {
		return string(*c.RestartPolicy)
	}
	return string(pod.Spec.RestartPolicy)
}
