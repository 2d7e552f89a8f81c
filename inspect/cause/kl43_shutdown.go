package cause

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The reasons in the status of a pod that a graceful shutdown rejected or ended. Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
const (
	rejectedByShutdown = "NodeShutdown"
	endedByShutdown    = "Terminated"
)

func shutdownOfNode() Rule {
	return Rule{
		ID: "KL43", Name: "node shutdown",
		About: "The machine was about to shut down: the kubelet rejected the pod when it arrived (NodeShutdown), or terminated it within the time that the " +
			"graceful shutdown gives to pods of its priority. Such a pod has failed and will not run again. It rests on the verdict, or on the reason in the " +
			"pod's status; that of a pod that did not terminate in time, on the record of its group.",
		Find: findShutdown,
	}
}

func findShutdown(c *Case) []Finding {
	for _, d := range ownPoints[*trace.Decision](c) {
		switch {
		case d.Event.By == trace.ByAdmission && d.Event.Verdict == trace.VerdictReject && d.Event.Code == rejectedByShutdown:
			return []Finding{c.rejectedByShutdown(d.Rec, d.Event.Reason)}
		case d.Event.By == trace.ByShutdown && d.Event.Verdict == trace.VerdictEnd:
			return []Finding{c.endedByShutdown(d.Rec, fmt.Sprintf("%s by %s: %s", d.Event.Verdict, d.Event.By, quoted(d.Event.Reason)), d.Event.Inputs)}
		}
	}
	st := c.status()
	switch {
	case st == nil || st.Event.Phase != trace.PodFailed:
	case st.Event.Reason == rejectedByShutdown:
		return []Finding{c.rejectedByShutdown(st.Rec, st.Event.Message)}
	case st.Event.Reason == endedByShutdown:
		return []Finding{c.endedByShutdown(st.Rec, "phase Failed, "+endedByShutdown+": "+quoted(st.Event.Message), nil)}
	}
	return nil
}

func (c *Case) rejectedByShutdown(rec *trace.Record, why string) Finding {
	return Finding{
		Confidence: Certain, Current: true, Final: true,
		Sentence: "the kubelet rejected the pod (NodeShutdown): the machine was about to shut down",
		Evidence: []Evidence{evidence(rec, "%s", quoted(why))},
		Remedy: "Delete the pod: its controller makes another one on a node that runs. Who binds pods to nodes by name should look at the node's condition Ready first; " +
			"drain a node before it shuts down.",
		RuledOutBy: "The machine's log has no shutdown at that time (journalctl -u systemd-logind), and the node was Ready.",
	}
}

func (c *Case) endedByShutdown(rec *trace.Record, shown string, inputs []trace.KV) Finding {
	f := Finding{
		Confidence: Certain, Cost: covered(c.endStretch()), End: covered(c.endStretch()), Current: c.Stage() == Ending, Evidence: []Evidence{evidence(rec, "%s", shown)},
		Sentence:   "the kubelet terminated the pod because the machine was about to shut down",
		Remedy:     "Nothing is wrong with the pod: its controller makes another one elsewhere. Drain a node before it shuts down, so that this happens first.",
		RuledOutBy: "The machine's log has no shutdown at that time (journalctl -u systemd-logind), or the pod was deleted before.",
	}
	for _, in := range inputs {
		f.Evidence = append(f.Evidence, evidence(rec, "%s %s", quoted(in.K), quoted(in.V)))
	}
	if g := c.overran(); g != nil {
		f.Sentence += fmt.Sprintf("; the pod had not terminated when the %d s of its priority were over", g.Event.Grace)
		f.Evidence = append(f.Evidence, evidence(g.Rec(), "group %d of %d, from priority %d: not terminated after %d s", g.Event.Group, g.Event.Groups, g.Event.Priority, g.Event.Grace))
		f.Remedy = "Give pods of its priority more time (shutdownGracePeriod, shutdownGracePeriodByPodPriority), or have the pod terminate sooner: see what its end waited for, above."
	}
	return f
}

// overran is the end of the pod's group, if the pod had not terminated then.
func (c *Case) overran() *Span[*trace.Shutdown] {
	groups := nodeSpans[*trace.Shutdown](c)
	for i := range groups {
		if g := &groups[i]; g.Event.State == trace.ShutdownGroup && slices.Contains(g.Event.Overran, c.Pod.String()) {
			return g
		}
	}
	return nil
}
