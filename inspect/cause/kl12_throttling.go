package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func throttling() Rule {
	return Rule{
		ID: "KL12", Name: "client throttling",
		About: "A request of the pod to the API server waited for the agent's own token bucket (kubeAPIQPS, kubeAPIBurst), or because the server " +
			"asked the client to retry later (Retry-After). It is reported when such waits took 10 ms and 5 % of the critical path or more; writes of " +
			"the status are not on it. The log of a kubelet that is not ours names the object of a request (a Secret, a ConfigMap, a claim, a token), and no pod: then " +
			"it is likely, where the pod's spec is known and refers to that object, and the time is that of its volumes of objects.",
		Find: findThrottling,
	}
}

// throttled are the waits of the pod's requests. Who waits for an object waits for the request, which may be another goroutine's.
func (c *Case) throttled() (out []holdup) {
	waits := ownSpans[*trace.Wait](c)
	others := c.pathStretches(func(s waterfall.Segment) bool { return s.Wait == trace.WaitObject || s.Wait == trace.WaitAttach })
	for i := range waits {
		w := &waits[i]
		bucket := w.Event.For == trace.WaitTokens && w.Event.Target.Kind == trace.TargetClient
		if !bucket && (w.Event.For != trace.WaitBackoff || w.Event.Target.Kind != trace.TargetRetryAfter) {
			continue
		}
		at := append(c.on(w.ID(), w.Start, w.Stop), clip(others, w.Start, w.Stop)...)
		out = append(out, holdup{at: at, what: say.On(w.Event), evidence: waitEvidence(w), open: w.Open, target: w.Event.Target.Kind})
	}
	return append(out, c.throttledObjects()...)
}

func findThrottling(c *Case) []Finding {
	all := c.throttled()
	cost := covered(stretches(all))
	open := openOf(all) && !c.up()
	if len(all) == 0 || cost == 0 || !c.speaks(cost, open) {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: cost, Current: open}
	f.Remedy = "Raise kubeAPIQPS and kubeAPIBurst in the kubelet configuration; the log of requests (kubeloupe events) shows who else uses them up."
	f.RuledOutBy = "With twice the kubeAPIQPS and kubeAPIBurst, the same burst of pods waits as long."
	for i := range all {
		if covered(all[i].at) > 0 || all[i].open { // writes of the status are not on the path
			f.Evidence = append(f.Evidence, all[i].evidence)
		}
	}
	f.Evidence = few(f.Evidence)
	switch long := longestOf(all); long.target { //nolint:exhaustive // the other targets are objects
	case trace.TargetClient:
		f.Sentence = fmt.Sprintf("its requests to the API server waited %s for the agent's own client throttling", took(cost, open))
	case trace.TargetRetryAfter:
		f.Sentence = fmt.Sprintf("the API server asked the client to retry later, and that took %s", took(cost, open))
		f.Remedy = "The server sheds load: look at its priority levels (kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels) and at its requests."
		f.RuledOutBy = "The server's metrics show no rejected requests of this node (apiserver_flowcontrol_rejected_requests_total)."
	default:
		f.Confidence = Likely
		f.Sentence = fmt.Sprintf("it waited %s for objects of the API server, longest for %s: the kubelet's requests for them waited for its own client throttling", took(cost, open), long.what)
	}
	return []Finding{f}
}
