package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// leastInit is the share of the critical path, in percent, from which init containers dominate a start; leastInitTime how long
// they take at least.
const (
	leastInit     = 50
	leastInitTime = 250 * time.Millisecond
)

func initDominates() Rule {
	return Rule{
		ID: "KL21", Name: "init container dominates",
		About: "Half of the critical path or more is the running of init containers, or of sidecars until they have passed their startup " +
			"probe. It rests on the waits of kind init; pulling and creating their containers does not count. It is silent where the pod has failed " +
			"before its app containers started.",
		Find: findInit,
	}
}

func findInit(c *Case) []Finding {
	if c.failed() && c.milestone(trace.MilestoneStarted) == nil {
		return nil // the app containers never start
	}
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitInit })
	crashes := c.crashWaits()
	w.cost = c.ranFor(&w, crashes)
	if len(w.spans) == 0 || w.cost < leastInitTime || 100*w.cost < leastInit*c.length() {
		return nil
	}
	name, took1 := longestInit(&w, crashes)
	what := "ran"
	if c.probed(name) {
		what = "had not passed its startup probe"
	}
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(w.evidence())}
	f.Sentence = fmt.Sprintf("init container %s %s for %s before the app containers could start", name, what, took(took1, f.Current))
	if took1 < w.cost {
		f.Sentence += fmt.Sprintf("; all init containers together took %s", took(w.cost, f.Current))
	}
	f.Remedy = fmt.Sprintf("See what %s does (kubectl logs -c %s): what it waits for or copies may be done in the image, in the app, or in a sidecar beside it.", name, name)
	f.RuledOutBy = "The container's own log shows it done long before the runtime reported its exit."
	return []Finding{f}
}

// crashWaits are the times in which a container of the pod waited for its restart.
func (c *Case) crashWaits() (out []stretch) {
	for _, s := range ownSpans[*trace.Wait](c) {
		if s.Event.For == trace.WaitBackoff && s.Event.Because("CrashLoopBackOff") {
			out = append(out, stretch{s.Start, s.Stop})
		}
	}
	return out
}

// ranFor is what init containers cost without the time in which they only waited for a restart: that is KL27's.
func (c *Case) ranFor(w *waited, crashes []stretch) time.Duration {
	var both []stretch
	for _, s := range w.spans {
		both = append(both, clip(crashes, s.Start, s.Stop)...)
	}
	return max(w.cost-covered(both), 0)
}

// longestInit is the init container that the path spent most time in, and how much.
func longestInit(w *waited, crashes []stretch) (name string, most time.Duration) {
	by := map[string]time.Duration{}
	for _, s := range w.spans {
		n := s.Event.Target.Name
		if by[n] += coveredBut([]stretch{{s.Start, s.Stop}}, crashes); by[n] > most {
			name, most = n, by[n]
		}
	}
	return name, most
}

// probed reports whether a container was asked by a startup probe: then it is a sidecar, and not its end was waited for.
func (c *Case) probed(container string) bool {
	for _, s := range ownSpans[*trace.ProbeAttempt](c) {
		if s.Event.Container == container && s.Event.Probe == trace.ProbeStartup {
			return true
		}
	}
	return false
}
