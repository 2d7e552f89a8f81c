package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

func sandboxChurn() Rule {
	return Rule{
		ID: "KL14", Name: "sandbox churn",
		About: "The pod's sandbox was replaced, for a reason that the plan gives (it is not ready, has no address, the network namespace " +
			"changed), or making it failed again and again. A first sandbox is none, nor what other rules name better: CNI, its image, reserved names, a runtime that is not there.",
		Find: findChurn,
	}
}

func findChurn(c *Case) []Finding {
	var f Finding
	var last Span[*trace.Action]
	replaced, failed, why := 0, 0, ""
	for _, s := range ownSpans[*trace.Action](c) {
		if s.Event.Verb != trace.VerbSandbox {
			continue
		}
		switch err := s.Err(); {
		case cniError(s.Event.Class) || s.Event.Class.Of(trace.FailImage) || s.Event.Class == trace.FailNameReserved || c.fromLog() && s.Event.Class == trace.FailUnreachable:
			continue
		case err != "":
			failed++
			why = "the runtime failed to create it: " + quoted(err)
		case s.Event.Replaces != "":
			replaced++
			why = s.Event.Reason
		default:
			continue
		}
		last = s
		f.Cost += c.cost(s.ID(), s.Start, s.Stop)
		f.Evidence = append(f.Evidence, evidence(s.Rec(), "sandbox, because %s: %s", why, took(s.Dur(), s.Open)))
	}
	if replaced == 0 && failed < 2 {
		return nil
	}
	f.Current = c.stuck() && (last.Open || last.Err() != "")
	if down := c.DownSince(); c.Stage() == Down && !last.Stop.Before(down) {
		f.Current = true
	}
	if f.Current && f.Cost == 0 {
		f.Cost = c.Now.Sub(last.Start)
	}
	if !c.fails(f.Cost, f.Current) && replaced < 2 {
		return nil
	}
	f.Confidence, f.Evidence = Certain, few(f.Evidence)
	f.Sentence = fmt.Sprintf("the sandbox was %s; most recently because %s", churned(replaced, failed), why)
	f.Remedy = "Look at why the old sandbox disappeared: the runtime's log around that time, an OOM kill of the pause process, a restart of the runtime or of the network's daemon."
	f.RuledOutBy = "The reason that the plan gives was no longer true when it was planned: then the agent used stale data."
	return []Finding{f}
}

func churned(replaced, failed int) string {
	switch {
	case failed == 0:
		return "replaced " + times(replaced)
	case replaced == 0:
		return fmt.Sprintf("not created in %d attempts", failed)
	}
	return fmt.Sprintf("replaced %s and not created in %d attempts", times(replaced), failed)
}
