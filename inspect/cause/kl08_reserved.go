package cause

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

func nameReserved() Rule {
	return Rule{
		ID: "KL08", Name: "name reserved after a timeout",
		About: "A RunPodSandbox or CreateContainer took longer than the agent waits (runtimeRequestTimeout), the runtime continued it, " +
			"and the next attempts failed because the name is reserved. It is reported when the call that timed out was seen, or, likely, in a kubelet's log that begins later.",
		Find: findReserved,
	}
}

func findReserved(c *Case) (out []Finding) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer"} {
		refused, again := c.failedCalls(method, func(s *Span[*trace.CRICall]) bool { return s.Event.Class == trace.FailNameReserved })
		late, _ := c.failedCalls(method, func(s *Span[*trace.CRICall]) bool { return s.Event.Code == "DeadlineExceeded" })
		switch {
		case len(refused) == 0:
			continue
		case len(late) == 0 && c.fromLog(): // the log begins after it, or leaves it out
		case len(late) == 0 || !late[0].Stop.Before(refused[0].Stop):
			continue
		}
		if f := c.reserved(method, late, refused); c.fails(f.Cost, !again && c.stuck()) {
			f.Current = !again && c.stuck()
			out = append(out, f)
		}
	}
	return out
}

func (c *Case) reserved(method string, late, refused []Span[*trace.CRICall]) Finding {
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitBackoff && (e.Class == trace.FailNameReserved || e.Class == trace.FailDeadline)
	})
	f := Finding{Confidence: Certain, Cost: w.cost}
	for _, s := range slices.Concat(late, refused) {
		f.Cost += c.cost(s.ID(), s.Start, s.Stop)
		f.Evidence = append(f.Evidence, callEvidence(&s))
	}
	inTime(f.Evidence)
	f.Evidence = few(append(f.Evidence, w.evidence()...))
	if len(late) == 0 {
		f.Confidence = Likely
		f.Sentence = fmt.Sprintf("the runtime refused the name for %s %s, as it still works on an attempt from before the log begins (%s)",
			method, times(len(refused)), quoted(refused[len(refused)-1].Err()))
	} else if late[0].Dur() == 0 { // the log does not tell when it began
		f.Sentence = fmt.Sprintf("%s ran into its deadline, and while the runtime continued it, the runtime refused its name %s (%s)",
			method, times(len(refused)), quoted(refused[len(refused)-1].Err()))
	} else {
		f.Sentence = fmt.Sprintf("%s got no answer for %s, and while the runtime continued it, the runtime refused its name %s (%s)",
			method, took(late[0].Dur(), false), times(len(refused)), quoted(refused[len(refused)-1].Err()))
	}
	f.Remedy = "Find what made the first call slow (disk, CNI, a stuck shim, too many at once): the refusals end with it. A restart of the runtime frees the name; a larger runtimeRequestTimeout avoids them."
	f.RuledOutBy = "The id that the error names belongs to another pod or an older attempt: then it is a leak in the runtime and will not end by itself."
	return f
}
