package podruntime

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// restarts reports whether a container in that state should run again. One in an unknown state may have run to its end; it has no exit code for
// its rules.
//
// Upstream: pkg/kubelet/container/helpers.go, ShouldContainerBeRestarted. There, the phase of a pod with the policy Never decides before, because its
// status says that the container has failed: pkg/kubelet/kubelet.go, SyncPod.
func restarts(pod *v1.Pod, c *v1.Container, last *podstate.Container) bool {
	switch last.State {
	case podstate.Exited:
		return podspec.ShouldRestart(&pod.Spec, c, last.ExitCode)
	case podstate.Unknown:
		return policyOf(pod, c) != string(v1.RestartPolicyNever)
	case podstate.Created, podstate.Running:
	}
	return true
}

// policyOf returns the effective restart policy of the container, for people.
func policyOf(pod *v1.Pod, c *v1.Container) string {
	if c.RestartPolicy != nil {
		return string(*c.RestartPolicy)
	}
	return string(pod.Spec.RestartPolicy)
}
