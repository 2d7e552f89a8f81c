package terminationmessage

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// CompleteBy returns until when a pod's status must wait if it shows the end of a container's log; zero if it shows
// none. pod may be nil.
func CompleteBy(pod *podstate.Pod) (at time.Time) {
	if pod == nil {
		return at
	}
	for _, c := range pod.Containers {
		if end := c.FinishedAt.Add(logs.Lag); c.State == podstate.Exited && showsLog(&c) && end.After(at) {
			at = end
		}
	}
	return at
}

// showsLog reports whether the end of a container's log is its termination message if its file has none. A container that could not be
// started has no log.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, convertToKubeContainerStatus.
func showsLog(c *podstate.Container) bool {
	return c.TerminationMessagePolicy == string(v1.TerminationMessageFallbackToLogsOnError) && c.ExitCode != 0 && c.Reason != "ContainerCannotRun"
}
