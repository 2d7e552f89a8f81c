package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func slotQueue() Rule {
	return Rule{
		ID: "KL26", Name: "queue for the runtime's slots",
		About: "Many pods at once: the agent lets the runtime work on a few of them at a time (--runtime-slots; by default it adapts, from one and a half times the processors). " +
			"Starts go in order of arrival, and starts, restarts and ends have equal shares. It is reported for waits of kind queue for the container runtime on " +
			"the critical path, except behind pods that hang (KL29).",
		Find: findSlotQueue,
	}
}

func findSlotQueue(c *Case) []Finding {
	stuck := c.heldUp() // KL29
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitQueue && (e.Target.Kind == trace.TargetRuntimeSlots && stuck[e] == nil || e.Target.Kind == trace.TargetStepSlot && len(stuck) == 0)
	})
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil}
	f.Sentence = fmt.Sprintf("it waited %s for its turn at the container runtime", took(w.cost, f.Current))
	queue := slices.DeleteFunc(slices.Clone(w.spans), func(s Span[*trace.Wait]) bool { return s.Event.Target.Kind != trace.TargetRuntimeSlots })
	if len(queue) > 0 {
		f.Sentence += ": " + detail(&queue[0])
		if n := c.podsAtWork(queue[0].Start, queue[0].Stop); n > 0 {
			f.Sentence += fmt.Sprintf("; other pods in progress meanwhile: %d", n)
		}
	}
	f.Evidence = few(w.evidence())
	f.Remedy = "Start fewer pods at once, or find what makes the runtime slow for each: more slots (--runtime-slots) mostly make all of them later, not sooner."
	f.RuledOutBy = "With more slots the same pods at once have a shorter median start on this machine."
	return []Finding{f}
}

// podsAtWork counts the other pods that had actions under way between two times.
func (c *Case) podsAtWork(from, to time.Time) int {
	pods := map[string]bool{}
	for _, s := range nodeSpans[*trace.Action](c) {
		if !s.Pod().IsZero() && s.Start.Before(to) && s.Stop.After(from) {
			pods[s.Pod().UID] = true
		}
	}
	return len(pods)
}
