package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// slack is how long before the status that says so a pod can have stopped being ready.
const slack = time.Second

// Since returns the first finding that has evidence since from, and is no estimate from the node's pressure; nil if there is none.
func Since(all []Finding, from time.Time) *Finding {
	if from.IsZero() {
		return nil
	}
	for i := range all {
		if f := &all[i]; !pressing(f.ID) && slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Time.After(from.Add(-slack)) }) {
			return f
		}
	}
	return nil
}

// WhyDown says which containers keep a pod that was ready from being so, where the pod's status has their exits; "" if it has none.
func (c *Case) WhyDown() string {
	var ended []string
	for _, s := range c.states() {
		if !s.Init && !s.Ephemeral && s.State == trace.ContainerTerminated {
			ended = append(ended, "container "+s.Name+" has ended with "+say.Code(s.ExitCode))
		}
	}
	if len(ended) == 0 {
		return ""
	}
	if spec := c.spec(); spec != nil && spec.RestartPolicy != "" {
		ended[len(ended)-1] += fmt.Sprintf(" (restartPolicy %s)", spec.RestartPolicy)
	}
	return strings.Join(ended, ", ")
}

// WhyLate says which probe a pod waited for that was ready long after it had started, and how often that failed before; "" for other pods.
// started and ready are since the pod was seen, 0 if unknown.
func (c *Case) WhyLate(started, ready time.Duration) string {
	after := ready - started
	to := c.milestone(trace.MilestoneReady)
	if started == 0 || to == nil || 2*after < ready {
		return ""
	}
	var last *Span[*trace.ProbeAttempt]
	attempts := ownSpans[*trace.ProbeAttempt](c)
	for i := range attempts {
		if a := &attempts[i]; a.Event.Probe != trace.ProbeLiveness && a.Event.Result == trace.ProbeSuccess && !a.Stop.After(to.At()) {
			last = a
		}
	}
	if last == nil {
		return ""
	}
	var failed []*Span[*trace.ProbeAttempt]
	for i := range attempts {
		if a := &attempts[i]; probeOf(a.Event) == probeOf(last.Event) && bad(a.Event) && !a.Stop.After(last.Start) {
			failed = append(failed, a)
		}
	}
	what := say.Target(probeOf(last.Event))
	if len(failed) == 0 {
		return fmt.Sprintf("it was ready %s after it had started, with the first success of the %s", human.Duration(after), what)
	}
	return fmt.Sprintf("it was ready %s after it had started: until then, the %s failed, %s: %s",
		human.Duration(after), what, times(len(failed)), answerText(failed[len(failed)-1].Event))
}
