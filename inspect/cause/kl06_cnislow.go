package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// leastCNI is how long a pod's network takes at least to be called slow.
const leastCNI = 250 * time.Millisecond

func slowCNI() Rule {
	return Rule{
		ID: "KL06", Name: "CNI slow",
		About: "Setting up the pod's network took at least 250ms of RunPodSandbox. Only the runtime's own spans tell that; without them the " +
			"rule is silent, and containerd's do not say which plugin of a chain it was.",
		Find: findSlowCNI,
	}
}

func findSlowCNI(c *Case) []Finding {
	var f Finding
	for _, p := range ownPoints[*trace.RuntimeSpan](c) {
		if !isCNI(p.Event) || p.Event.Dur < leastCNI {
			continue
		}
		f.Cost += c.cost(p.Rec.Span, spanStart(p.Event), spanEnd(p.Event))
		text := fmt.Sprintf("%s told: %s took %s", p.Event.Service, p.Event.Name, took(p.Event.Dur, false))
		if p.Event.Err != "" {
			text += " and failed: " + quoted(p.Event.Err)
		}
		f.Evidence = append(f.Evidence, evidence(p.Rec, "%s", text))
	}
	if len(f.Evidence) == 0 || !c.material(f.Cost) {
		return nil
	}
	f.Confidence, f.Evidence = Certain, few(f.Evidence)
	f.Sentence = fmt.Sprintf("setting up the pod's network (CNI ADD) took %s of RunPodSandbox", took(f.Cost, false))
	f.Remedy = "Look at the network plugin's own log for that time: mostly it asks a daemon or the API server for an address, or waits for iptables' lock."
	f.Disproof = "The plugin's log has its ADD done in a fraction of that time: then the runtime waited before it called the plugin."
	return []Finding{f}
}

// isCNI reports whether a span of the runtime is about all of a pod's network, and not a part of that.
func isCNI(e *trace.RuntimeSpan) bool { return strings.HasSuffix(e.Name, "setup_pod_network") }
