package say

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// fewPods is the most pods that a line names.
const fewPods = 10

// Shutdown describes a step of a graceful shutdown. begins says that a group begins.
func Shutdown(e *trace.Shutdown, begins bool) string { return noise.Of(shutdown(e, !begins)) }

func shutdown(e *trace.Shutdown, over bool) string {
	const what = "shutdown: "
	switch e.State {
	case trace.ShutdownHeld:
		return what + "logind's lock is held: a shutdown of the machine waits up to " + human.Duration(e.Delay) + " for pods" + tooShort(e)
	case trace.ShutdownLast:
		s := what + "the last graceful shutdown began at " + e.Started.UTC().Format(time.RFC3339)
		if e.Ended.IsZero() {
			return s + " and was not completed"
		}
		return s + " and took " + human.Duration(e.Ended.Sub(e.Started))
	case trace.ShutdownAnnounced:
		return fmt.Sprintf("%sthe machine is about to shut down: %s in %s, %d s", what, plural(len(e.Pods), "pod"), plural(e.Groups, "group"), e.Grace) + tooShort(e)
	case trace.ShutdownGroup:
		return what + group(e, over)
	case trace.ShutdownReleased:
		s := what + "the lock is released after " + human.Duration(e.Ended.Sub(e.Started)) + ", and the machine shuts down"
		if len(e.Overran) > 0 {
			s += "; not terminated: " + few(e.Overran)
		}
		return s
	case trace.ShutdownCanceled:
		return what + "canceled: the node runs pods again"
	}
	return ""
}

// tooShort says that logind does not wait as long as the pods may take.
func tooShort(e *trace.Shutdown) string {
	if need := time.Duration(e.Grace) * time.Second; e.Delay > 0 && e.Delay < need {
		return ", less than the " + human.Duration(need) + " that the configuration gives them"
	}
	return ""
}

func group(e *trace.Shutdown, over bool) string {
	s := fmt.Sprintf("group %d of %d, from priority %d: ", e.Group, e.Groups, e.Priority)
	switch {
	case !over:
		return s + fmt.Sprintf("%s within %d s: %s", plural(len(e.Pods), "pod"), e.Grace, few(e.Pods))
	case len(e.Overran) > 0:
		return s + fmt.Sprintf("%d of %s did not terminate in time: %s", len(e.Overran), plural(len(e.Pods), "pod"), few(e.Overran))
	}
	return s + plural(len(e.Pods), "pod") + " terminated"
}

// few lists names, and counts those of a long list.
func few(names []string) string {
	if n := len(names); n > fewPods {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:fewPods], ", "), n-fewPods)
	}
	return strings.Join(names, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
