package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func behindHung() Rule {
	return Rule{
		ID: "KL29", Name: "behind pods that hang",
		About: "Other pods' calls held the slots that the pod needed (of the runtime's slots, of volume operations, of pulls) for clearly longer " +
			"than such calls take on this node, until they had to release them. It is reported for waits that name who they were behind.",
		Find: findBehindHung,
	}
}

// hungFor is how long a call holds a place that is taken for one that hangs before it is known to overstay.
const hungFor = 5 * time.Second

func findBehindHung(c *Case) []Finding {
	stuck := c.heldUp()
	if len(stuck) == 0 {
		return nil
	}
	w := c.waited(func(e *trace.Wait) bool { return stuck[e] != nil || e.Target.Kind == trace.TargetStepSlot })
	if !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil}
	if f.Current {
		f.Confidence = Likely
	}
	var hung []trace.Holder
	for i := range w.spans {
		s := &w.spans[i]
		if who := stuck[s.Event]; who != nil {
			hung = append(hung, who...)
			f.Evidence = append(f.Evidence, evidence(s.Rec(), "wait for %s: %s, %s", say.On(s.Event), took(s.Dur(), s.Open), say.Behind(who, 0)))
		}
	}
	f.Sentence = fmt.Sprintf("it waited %s %s", took(f.Cost, f.Current), say.Behind(distinct(hung), 0))
	f.Evidence = few(f.Evidence)
	f.Remedy = "Look at the pods that are named (kubeloupe why POD), and at what their calls hang in: a CNI plugin, a runtime handler, a volume's server, a registry."
	f.RuledOutBy = "Their calls take as long as those of all other pods: then the runtime is slow for all (KL15, KL23, KL25)."
	return []Finding{f}
}

// heldUp are the pod's waits behind calls that hang, with those.
func (c *Case) heldUp() map[*trace.Wait][]trace.Holder {
	out := map[*trace.Wait][]trace.Holder{}
	for _, s := range ownSpans[*trace.Wait](c) {
		if who := stuckHolders(&s); len(who) > 0 {
			out[s.Event] = who
		}
	}
	return out
}

// stuckHolders are those a wait was behind that overstayed, or, while it goes on, have been at it for long.
func stuckHolders(s *Span[*trace.Wait]) (out []trace.Holder) {
	for _, h := range s.Event.Behind {
		if s.Open {
			h.For += s.Dur()
		}
		if h.Overstays || s.Open && h.For >= hungFor {
			out = append(out, h)
		}
	}
	return out
}

// distinct keeps one holder of each call of a pod.
func distinct(all []trace.Holder) (out []trace.Holder) {
	seen := map[string]bool{}
	for _, h := range all {
		if k := strings.Join([]string{h.Pod.UID, h.Pod.String(), h.Call}, "\x00"); !seen[k] {
			seen[k] = true
			out = append(out, h)
		}
	}
	return out[:min(len(out), 4)]
}
