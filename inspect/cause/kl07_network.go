package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

func networkNotReady() Rule {
	return Rule{
		ID: "KL07", Name: "network not ready",
		About: "The pod waited for the runtime to have a pod network (no CNI configuration yet), or the sandbox failed because a CNI plugin " +
			"was missing or failed; the runtime's error says which, else the runs of plugins that kubeloupe sees say which ran last. The attempts " +
			"and the waits between them count.",
		Find: findNetwork,
	}
}

// cniError reports whether a failure is about the pod's network.
func cniError(class trace.FailureClass) bool {
	return class.Of(trace.FailNetwork)
}

func findNetwork(c *Case) []Finding {
	ends := c.milestone(trace.MilestoneTerminating) // from then on a plugin takes the network away
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitRuntime && e.Target.Kind == trace.TargetNetwork || e.For == trace.WaitBackoff && cniError(e.Class)
	})
	if ends != nil {
		w = w.before(ends.At())
	}
	failed, again := c.failedCalls("RunPodSandbox", func(s *Span[*trace.CRICall]) bool { return cniError(s.Event.Class) })
	if len(w.spans)+len(failed) == 0 {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil || len(failed) > 0 && !again && c.stuck()}
	why, class, plugin, last := "", trace.FailureClass(""), "", (*pluginRun)(nil)
	for i := range failed {
		f.Cost += c.cost(failed[i].ID(), failed[i].Start, failed[i].Stop)
		again := i > 0 && i < len(failed)-1 && class == failed[i].Event.Class && plugin == failed[i].Event.Plugin // the first and the last say it
		why, class, plugin = failed[i].Err(), failed[i].Event.Class, failed[i].Event.Plugin
		if runs := c.pluginRuns(failed[i].ID()); len(runs) > 0 {
			last = &runs[len(runs)-1]
		}
		if again {
			continue
		}
		f.Evidence = append(f.Evidence, callEvidence(&failed[i]))
		if last != nil {
			f.Evidence = append(f.Evidence, last.evidence())
		}
	}
	for i := range w.spans {
		if e := w.spans[i].Event; why == "" {
			why, class, plugin = e.Cause, e.Class, e.Plugin
		}
	}
	if !c.fails(f.Cost, f.Current) {
		return nil
	}
	if len(w.spans) > 0 {
		f.Evidence = append(f.Evidence, waitEvidence(w.longest()))
	}
	inTime(f.Evidence)
	f.Evidence = few(f.Evidence)
	f.Sentence, f.Remedy = networkText(why, class, plugin, len(failed))
	if last != nil && plugin == "" {
		f.Sentence += "; the last plugin to run was " + last.name
	}
	f.Sentence = fmt.Sprintf("%s; that cost %s", f.Sentence, took(f.Cost, f.Current))
	f.RuledOutBy = "A pod with hostNetwork starts as slowly on this node, or crictl info shows NetworkReady true for all of that time."
	return []Finding{f}
}

// networkText says what the runtime said of the network, and what to do.
func networkText(why string, class trace.FailureClass, plugin string, failed int) (sentence, remedy string) {
	if class == trace.FailPluginMissing {
		return fmt.Sprintf("the CNI plugin %s is not on the node (%s)", plugin, quoted(why)),
			fmt.Sprintf("Install the plugin %s into the runtime's bin_dir (mostly /opt/cni/bin), or correct the configuration in /etc/cni/net.d that names it.", plugin)
	}
	if class == trace.FailPlugin {
		return fmt.Sprintf("the CNI plugin %s failed %s: %s", plugin, times(max(failed, 1)), quoted(why)),
			fmt.Sprintf("See what the plugin %s says in its own log: its daemon, its address pool, its access to the API server.", plugin)
	}
	if failed > 0 {
		return fmt.Sprintf("the pod's network could not be set up %s: %s", times(failed), quoted(why)),
			"See the runtime's log for the CNI error, and whether the network's daemon runs on this node."
	}
	return "the runtime has no pod network: " + quoted(why),
		"See that the network's daemon runs on this node and has written its configuration to /etc/cni/net.d; the runtime picks it up by itself."
}
