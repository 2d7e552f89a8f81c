package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

func crashBackoff() Rule {
	return Rule{
		ID: "KL27", Name: "container crash back-off",
		About: "A container keeps ending, and the next restart has to wait (10s, doubling to maxContainerRestartPeriod, 5m). It rests on the " +
			"restart decisions and on the waits of kind backoff that name CrashLoopBackOff.",
		Find: findCrashBackoff,
	}
}

func findCrashBackoff(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitBackoff && e.Because("CrashLoopBackOff")
	})
	decisions := slices.DeleteFunc(slices.Clone(ownPoints[*trace.Decision](c)), func(p Point[*trace.Decision]) bool {
		return p.Event.By != trace.ByRestart || p.Event.Verdict != trace.VerdictWait
	})
	if len(w.spans) == 0 || len(decisions) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	last := decisions[len(decisions)-1].Event
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: c.deaths(last.Subject)}
	for _, d := range decisions {
		f.Evidence = append(f.Evidence, evidence(d.Rec, "%s: %s", d.Event.Subject, d.Event.Reason))
	}
	why := "keeps ending (" + exits(last) + ")"
	probe := c.endedBy(last.Subject)
	if probe != nil {
		f.Evidence = append(f.Evidence, evidence(probe.End, "%s probe of %s failed, %d of %d", probe.Event.Probe, last.Subject, probe.Event.Count, probe.Event.Threshold))
		why = fmt.Sprintf("is ended again and again because its %s probe fails (%s)", probe.Event.Probe, quoted(probe.Event.Output))
	}
	slices.SortStableFunc(f.Evidence, func(a, b Evidence) int { return a.Time.Compare(b.Time) })
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("container %s %s, and its restart had to wait: %s in back-off", last.Subject, why, took(w.cost, f.Current))
	if f.Current {
		f.Sentence = strings.Replace(f.Sentence, "had to wait", "has to wait", 1)
	}
	if probe != nil {
		f.Remedy = "Let the container answer the probe, or let the probe ask for what it answers; one that is only slow wants a larger timeoutSeconds or failureThreshold, or a startup probe."
		f.RuledOutBy = "Without the probe the container ends as often."
		return []Finding{f}
	}
	f.Remedy = fmt.Sprintf("Read what it said last: kubectl logs %s -c %s -p. The back-off ends by itself once it runs for 10 minutes.", c.Pod.Name, last.Subject)
	f.RuledOutBy = "The container was ended from outside (an OOM kill, a person): then that is the cause, and its log is silent about it."
	return []Finding{f}
}

// endedBy is the attempt of a liveness or startup probe for which the container that died last was ended; nil when it ended
// otherwise.
func (c *Case) endedBy(container string) *Span[*trace.ProbeAttempt] {
	id := ""
	for _, p := range ownPoints[*trace.PLEGEvent](c) {
		if p.Event.Type == "ContainerDied" && p.Event.Name == container {
			id = p.Event.Container
		}
	}
	for _, s := range slices.Backward(ownSpans[*trace.ProbeAttempt](c)) {
		if e := s.Event; s.End != nil && id != "" && e.ContainerID == id && e.Probe != trace.ProbeReadiness && e.State == trace.ProbeDenies {
			return &s
		}
	}
	return nil
}

// exits says how a container ended, as the decision has it.
func exits(d *trace.Decision) string {
	text := "exit code " + Input(d, "exitCode")
	if n := Input(d, "attempt"); n != "" {
		text += ", attempt " + n
	}
	return text
}

// deaths are the ends of a container as the runtime told them.
func (c *Case) deaths(container string) (out []Evidence) {
	for _, p := range ownPoints[*trace.PLEGEvent](c) {
		if p.Event.Type == "ContainerDied" && p.Event.Name == container {
			out = append(out, evidence(p.Rec, "container %s ended", container))
		}
	}
	return out
}
