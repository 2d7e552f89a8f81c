package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func sandboxImage() Rule {
	return Rule{
		ID: "KL38", Name: "sandbox image pulled",
		About: "The image of the sandbox (pause) was not on the node, and the runtime pulled it inside RunPodSandbox, which took 500ms of the critical path or " +
			"more. Containerd's own spans show that; without them, the rule reports nothing.",
		Find: findSandboxImage,
	}
}

func findSandboxImage(c *Case) []Finding {
	f := Finding{Confidence: Certain}
	image := "of the sandbox"
	calls := ownSpans[*trace.CRICall](c)
	for i := range calls {
		if calls[i].Event.Method != "RunPodSandbox" {
			continue
		}
		var from, to time.Time
		for _, s := range c.runtimeSpans(calls[i].ID()) {
			if ref := attr(s.Event, "image.ref"); ref != "" {
				image = human.Image(ref)
			}
			if !strings.HasSuffix(s.Event.Name, requestSpan) && !strings.Contains(s.Event.Name, ".unpacker.") {
				continue
			}
			if at := spanStart(s.Event); from.IsZero() || at.Before(from) {
				from = at
			}
			to = laterOf(to, spanEnd(s.Event))
			if s.Event.Dur >= leastCost && strings.HasSuffix(s.Event.Name, requestSpan) {
				f.Evidence = append(f.Evidence, evidence(s.Rec, "%s reported, inside RunPodSandbox: %s of %s took %s",
					s.Event.Service, attr(s.Event, "http.request.method"), human.Line(attr(s.Event, "url.full")), took(s.Event.Dur, false)))
			}
		}
		if !from.IsZero() {
			f.Cost += c.cost(calls[i].ID(), from, to)
			f.Evidence = append(f.Evidence, callEvidence(&calls[i]))
		}
	}
	if f.Cost < leastPart || !c.material(f.Cost) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("the runtime pulled the image %s inside RunPodSandbox, which took %s: it was not on the node", image, took(f.Cost, false))
	f.Remedy = "Have the sandbox's image on the node (crictl pull), pinned so that garbage collection leaves it, and let the runtime's configuration name a registry that is near."
	f.RuledOutBy = "The runtime's log has the image there before RunPodSandbox began."
	return []Finding{f}
}
