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
		shows := c.State == podstate.Exited && c.ExitCode != 0 && c.TerminationMessagePolicy == string(v1.TerminationMessageFallbackToLogsOnError)
		if end := c.FinishedAt.Add(logs.Lag); shows && end.After(at) {
			at = end
		}
	}
	return at
}
