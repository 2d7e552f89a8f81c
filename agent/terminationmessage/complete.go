package terminationmessage

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// logLag is how long after a container's exit its log may be incomplete. containerd writes it in a goroutine without
// waiting for it.
const logLag = 100 * time.Millisecond

// CompleteBy returns until when a pod's status must wait if it shows the end of a container's log; zero if it shows
// none. pod may be nil.
func CompleteBy(pod *podstate.Pod) (at time.Time) {
	if pod == nil {
		return at
	}
	for _, c := range pod.Containers {
		shows := c.State == podstate.Exited && c.ExitCode != 0 && c.TerminationMessagePolicy == string(v1.TerminationMessageFallbackToLogsOnError)
		if end := c.FinishedAt.Add(logLag); shows && end.After(at) {
			at = end
		}
	}
	return at
}
