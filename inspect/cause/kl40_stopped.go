package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func agentStopped() Rule {
	return Rule{
		ID: "KL40", Name: "agent did not run",
		About: "The agent itself did not run for a second or more while the pod started or terminated: it was stopped (SIGSTOP, a debugger), frozen with its " +
			"cgroup, or, likely, got no processor. It rests on figures that the agent should have read every second and read late. What was open meanwhile " +
			"looks as if it took long; that time is no other cause's, unless a call or a wait lasted longer still. It is reported from 10 ms and 5 % of the critical path, or of the pod's end, on.",
		Find: findAgentStopped,
	}
}

func findAgentStopped(c *Case) (out []Finding) {
	for _, part := range c.parts(c.stretchesOf(c.path())) {
		for _, starved := range []bool{false, true} {
			if f := c.notRunning(&part, starved); f != nil {
				out = append(out, *f)
			}
		}
	}
	return out
}

// notRunning is what it cost a part that the agent was stopped, or, if starved, that it got no processor; nil if it is not worth a word.
func (c *Case) notRunning(part *part, starved bool) *Finding {
	f := Finding{Confidence: Certain, End: part.end}
	var at []stretch
	for _, u := range c.lateFigures() {
		in := clip(part.at, u.Rec.At().Add(-u.Event.Late), u.Rec.At())
		if len(in) == 0 || starves(u.Event) != starved {
			continue
		}
		at = append(at, in...)
		text := "figures of the agent that were read " + human.Duration(u.Event.Late) + " late"
		if u.Event.RunDelay > 0 {
			text += "; its threads waited " + human.Duration(u.Event.RunDelay) + " for a processor"
		}
		f.Evidence = append(f.Evidence, evidence(u.Rec, "%s", text))
	}
	f.Cost, f.Evidence = covered(at), few(f.Evidence)
	if len(at) == 0 || !part.worth(f.Cost) {
		return nil
	}
	while := "while the pod started"
	if part.end > 0 {
		while = "while the pod terminated"
	}
	f.Sentence = fmt.Sprintf("the agent itself was stopped for %s %s: it did not run, and noticed nothing", human.Duration(f.Cost), while)
	f.Remedy = "See what stops it: kill -STOP, Ctrl+Z in its terminal, a debugger, a frozen cgroup (cat .../cgroup.freeze, freezer.state), or a virtual machine that its host pauses."
	if starved {
		f.Confidence = Likely
		f.Sentence = fmt.Sprintf("the agent itself did not run for %s %s: it got no processor", human.Duration(f.Cost), while)
		f.Remedy = "Reserve CPU for the system (kubeReserved, systemReserved), raise the CPU weight or quota of the agent's unit, and see what uses the processors (systemd-cgtop)."
	}
	f.RuledOutBy = "The agent's other records of that time (its syncLoop, its relists) have no gap."
	return &f
}

// resumed is how long an agent that runs again needs at most to notice what happened meanwhile.
const resumed = time.Second

// lateFigures are the figures that show that the agent did not run for a while, and noticed something late for that.
func (c *Case) lateFigures() (out []Point[*trace.Usage]) {
	for _, u := range nodePoints[*trace.Usage](c) {
		if u.Event.Late > 0 && !c.outlasts(u.Rec.At().Add(-u.Event.Late), u.Rec.At()) {
			out = append(out, u)
		}
	}
	return out
}

// outlasts reports whether the pod waited for others all that time and longer: then it makes no difference that the agent did not run.
func (c *Case) outlasts(from, to time.Time) bool {
	for _, w := range ownSpans[*trace.Wait](c) {
		if !w.Start.After(from) && w.Stop.After(to.Add(resumed)) {
			return true
		}
	}
	for _, k := range ownSpans[*trace.CRICall](c) {
		if !k.Start.After(from) && k.Stop.After(to.Add(resumed)) {
			return true
		}
	}
	return false
}

// starves reports whether the agent could have run all that time, and got no processor: at least one thread waited for one.
func starves(u *trace.Usage) bool { return 2*u.RunDelay >= u.Late }

// stopped are the times in which the agent was stopped. A call that was open then may have been answered long before the agent noticed.
func (c *Case) stopped() []stretch {
	if c.memo.stoppedKnown {
		return c.memo.stopped
	}
	for _, u := range c.lateFigures() {
		if !starves(u.Event) {
			c.memo.stopped = append(c.memo.stopped, stretch{u.Rec.At().Add(-u.Event.Late), u.Rec.At()})
		}
	}
	c.memo.stoppedKnown = true
	return c.memo.stopped
}

// running is how much of [from, to] the agent ran.
func (c *Case) running(from, to time.Time) time.Duration {
	if len(c.stopped()) == 0 { // nearly always: each span asks
		return to.Sub(from)
	}
	return coveredBut([]stretch{{from, to}}, clip(c.stopped(), from, to))
}
