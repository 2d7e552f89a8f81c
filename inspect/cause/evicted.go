package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// evicted is the agent's own eviction of the pod: what the node was short of, or which limit of its own the pod exceeded.
func (c *Case) evicted(d *Point[*trace.Decision]) *Finding {
	e := d.Event
	f := &Finding{
		Confidence: Certain, Cost: covered(c.endStretch()), End: covered(c.endStretch()), Current: c.Stage() == Ending,
		Evidence: []Evidence{evidence(d.Rec, "%s by %s: %s", e.Verdict, e.By, quoted(e.Reason))},
	}
	for _, in := range e.Inputs {
		f.Evidence = append(f.Evidence, evidence(d.Rec, "%s %s", quoted(in.K), quoted(in.V)))
	}
	if what := ownLimit(e.Signal); what != "" {
		f.Sentence = fmt.Sprintf("the node evicted the pod: %s (%s)", what, say.Amount(e.Signal, e.Limit))
		f.Remedy = "Let the pod write less (logs, emptyDir volumes, files in its containers), or raise the limit (resources.limits.ephemeral-storage, emptyDir.sizeLimit)."
		f.RuledOutBy = "The figures above are below the limit."
		return f
	}
	f.Sentence = fmt.Sprintf("the node was short of %s (below %s free) and evicted this pod first", e.Signal, say.Amount(e.Signal, e.Limit))
	f.Remedy = "Request what the pod really uses: pods that use more than they request go first, then those of low priority. See what else uses the node (kubeloupe tui, view Eviction, " +
		"has the whole ranking), or give it more."
	f.RuledOutBy = "The node had much more than the threshold at that time (evictionHard, evictionSoft): then its figures were wrong."
	return f
}

// ownLimit says what of a pod exceeded its limit; "" for a signal of the node.
func ownLimit(s trace.Signal) string {
	return map[trace.Signal]string{
		trace.SignalEmptyDirLimit:  "an emptyDir volume holds more than its sizeLimit allows",
		trace.SignalPodLimit:       "the pod's files together are larger than its ephemeral-storage limit allows",
		trace.SignalContainerLimit: "a container's files are larger than its ephemeral-storage limit allows",
	}[s]
}
