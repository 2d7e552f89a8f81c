package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func readinessGate() Rule {
	return Rule{
		ID: "KL39", Name: "readiness gate not set",
		About: "All containers are ready, and the pod is not: it has readiness gates, conditions that a controller outside the node sets to True, and one of " +
			"them is not. It rests on the pod's spec and on its statuses. It is reported while that continues, and afterwards where it was 100 ms and 5 % of " +
			"the time to ready, or more.",
		Find: findReadinessGate,
	}
}

func findReadinessGate(c *Case) []Finding {
	spec := c.spec()
	if spec == nil || spec.ReadinessGates == 0 {
		return nil
	}
	var since *trace.Record // from when on all containers were ready
	for _, p := range ownPoints[*trace.PodStatus](c) {
		switch ready := p.Event.Total > 0 && p.Event.Ready == p.Event.Total; {
		case !ready:
			since = nil
		case since == nil:
			since = p.Rec
		}
	}
	if since == nil {
		return nil
	}
	until, current := c.Now, c.Stage() == Starting
	if !current {
		ready := c.milestone(trace.MilestoneReady)
		if ready == nil || !ready.At().After(since.At()) {
			return nil
		}
		until = ready.At()
	}
	cost := until.Sub(since.At())
	if cost < leastGate || !current && (c.Waterfall == nil || 20*cost < until.Sub(c.Waterfall.Origin)) {
		return nil
	}
	gates := "the condition of its readiness gate is"
	if n := spec.ReadinessGates; n > 1 {
		gates = fmt.Sprintf("a condition of its %d readiness gates is", n)
	}
	f := Finding{Confidence: Certain, Cost: cost, Current: current, Evidence: []Evidence{evidence(since, "all containers are ready")}}
	f.Sentence = fmt.Sprintf("all containers have been ready for %s, and %s not True: a controller outside the node sets it", took(cost, true), gates)
	if !current {
		f.Sentence = fmt.Sprintf("all containers were ready %s before %s True: a controller outside the node sets it", took(cost, false), gates)
	}
	f.Remedy = fmt.Sprintf("See which condition is missing (kubectl get pod -n %s %s -o jsonpath='{.spec.readinessGates} {.status.conditions}'), and look at the controller "+
		"that sets it: a load balancer's, usually, which waits for its own health check.", c.Pod.Namespace, c.Pod.Name)
	f.RuledOutBy = "All conditions that spec.readinessGates lists are True in the pod's status, and it is not Ready all the same."
	return []Finding{f}
}

// leastGate is how long a readiness gate holds a pod up to be spoken of.
const leastGate = 100 * time.Millisecond
