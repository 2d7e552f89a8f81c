package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

func slowCredentials() Rule {
	return Rule{
		ID: "KL04", Name: "credential provider slow",
		About: "A pull waited for an exec credential provider to answer. It is reported for waits of kind credentials on the critical path. Of a kubelet " +
			"that is not ours, the kernel shows how long the provider ran, and the kubelet's log from V3 on for which pull.",
		Find: findSlowCredentials,
	}
}

func findSlowCredentials(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitCredentials })
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	long := w.longest()
	return []Finding{{
		Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(w.evidence()),
		Sentence:   fmt.Sprintf("the pull waited %s for the credential provider %s to answer for %s", took(w.cost, w.open != nil), long.Event.Target.Name, long.Event.Target.Namespace),
		Remedy:     "Let the provider's answer be cached (defaultCacheDuration, cacheDuration), and see what it asks: mostly a cloud's metadata or token service.",
		RuledOutBy: "Run manually with the same request, the provider answers at once: then look for what slowed its start (CPU, disk) at that time.",
	}}
}
