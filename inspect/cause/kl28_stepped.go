package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

func stepped() Rule {
	return Rule{
		ID: "KL28", Name: "stepped by a person",
		About: "Somebody steps the pod: its actions run one by one, each when that person continues. It is reported for waits of kind gate.",
		Find:  findStepped,
	}
}

func findStepped(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitGate })
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	return []Finding{{
		Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(w.evidence()),
		Sentence:   fmt.Sprintf("it waited %s for the person who steps it, at %d actions", took(w.cost, w.open != nil), len(w.spans)),
		Remedy:     "Continue it, or stop the stepping client: then the gate opens.",
		RuledOutBy: "No one steps: then a client is still connected to the agent's control socket.",
	}}
}
