package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// leastCNI is how long a pod's network takes at least to be called slow.
const leastCNI = 250 * time.Millisecond

// longStarvedCNI is how long it takes at least on a node whose processors have no room, unless one plugin is slow: there, all that is started is
// slow, and KL23 says so.
const longStarvedCNI = 2 * time.Second

func slowCNI() Rule {
	return Rule{
		ID: "KL06", Name: "CNI slow",
		About: "Setting up the pod's network took at least 250ms of RunPodSandbox. The runtime's own spans show that, CRI-O's log, or the runs of CNI " +
			"plugins that kubeloupe sees. Only the runs show which plugin of a chain it was. Without all of these, containerd's log shows how long RunPodSandbox took " +
			"before the sandbox's shim: from 1s on, the network is the likely cause. Without that, the rule reports nothing. Of a RunPodSandbox that has not returned " +
			"for 5s while the runtime answers other calls, the network is the likely cause if the last plugin that ran ended long ago, and no span shows the network done. " +
			"Attempts that failed for the network are KL07's, and less than 2s, of which no plugin took most itself, is KL23's on a node whose processors have no room.",
		Find: findSlowCNI,
	}
}

func findSlowCNI(c *Case) []Finding {
	runs := c.pluginRuns(0)
	var f Finding
	f.Cost, f.Evidence = c.networkTime()
	if len(f.Evidence) == 0 { // the runtime tells nothing
		f.Cost, f.Evidence = c.chainTime(runs)
	}
	if len(f.Evidence) == 0 {
		return slices.Concat(c.hungNetwork(), c.slowBeforeShim())
	}
	failed := c.networkFailures()
	slowest, own := slowestPlugin(slices.DeleteFunc(runs, func(r pluginRun) bool { return failed.has(c, r.Rec.Span) }))
	if !c.material(f.Cost) || f.Cost < longStarvedCNI && 4*own < 3*f.Cost && c.starvedNode() {
		return nil
	}
	f.Confidence = Certain
	f.Sentence = fmt.Sprintf("setting up the pod's network (CNI ADD) took %s of RunPodSandbox", took(f.Cost, false))
	who := "the network plugin"
	if own > 0 {
		who = "the plugin " + slowest.name
		f.Sentence += fmt.Sprintf("; the slowest plugin was %s, which itself ran for %s", slowest.name, took(own, false))
		f.Evidence = append(f.Evidence, slowest.evidence())
	}
	f.Evidence = few(f.Evidence)
	f.Remedy = "Look at the log of " + who + " for that time: mostly it asks a daemon or the API server for an address, or waits for iptables' lock."
	f.RuledOutBy = "The log of " + who + " has its ADD done in a fraction of that time: then the runtime waited before it called the plugin."
	return []Finding{f}
}

// leastBeforeShim is how long RunPodSandbox takes before the sandbox's shim for the network to be the likely cause: the rest of it is short.
const leastBeforeShim = time.Second

// slowBeforeShim is what the runtime's log tells of a slow network.
func (c *Case) slowBeforeShim() []Finding {
	f := Finding{Confidence: Likely}
	for _, p := range ownPoints[*trace.RuntimeSpan](c) {
		if p.Event.Name == trace.SpanBeforeShim && p.Event.Dur >= leastBeforeShim {
			f.Cost += c.cost(p.Rec.Span, spanStart(p.Event), spanEnd(p.Event))
			f.Evidence = append(f.Evidence, evidence(p.Rec, "RunPodSandbox took %s before the log of %s has the sandbox's shim", took(p.Event.Dur, false), p.Event.Service))
		}
	}
	if len(f.Evidence) == 0 || !c.material(f.Cost) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("RunPodSandbox took %s before it started the sandbox, which is mostly the setup of the pod's network (CNI ADD)", took(f.Cost, false))
	f.Remedy = "Look at the log of the network plugin for that time: mostly it asks a daemon or the API server for an address, or waits for iptables' lock."
	f.RuledOutBy = "The log of the network plugin has its ADD done in a fraction of that time: then the runtime waited before it called the plugin."
	return []Finding{f}
}

// networkTime is what slow networks took by the runtime's own account.
func (c *Case) networkTime() (cost time.Duration, ev []Evidence) {
	failed := c.networkFailures()
	for _, p := range ownPoints[*trace.RuntimeSpan](c) {
		if !isCNI(p.Event) || p.Event.Dur < leastCNI || p.Event.Err != "" || failed.has(c, p.Rec.Span) {
			continue
		}
		cost += c.cost(p.Rec.Span, spanStart(p.Event), spanEnd(p.Event))
		ev = append(ev, evidence(p.Rec, "%s reported: %s took %s", p.Event.Service, p.Event.Name, took(p.Event.Dur, false)))
	}
	return cost, ev
}

// chainTime is what the runs of plugins took that the runtime ran, where they took long together: several networks are made at once.
func (c *Case) chainTime(runs []pluginRun) (cost time.Duration, ev []Evidence) {
	var all, path []stretch
	failed := c.networkFailures()
	for _, r := range runs {
		if r.outer && !failed.has(c, r.Rec.Span) {
			all = append(all, stretch{spanStart(r.Event), spanEnd(r.Event)})
			path = append(path, c.on(r.Rec.Span, spanStart(r.Event), spanEnd(r.Event))...)
			ev = append(ev, r.evidence())
		}
	}
	if covered(all) < leastCNI {
		return 0, nil
	}
	return covered(path), ev
}
