package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func starvedProbe() Rule {
	return Rule{
		ID: "KL20", Name: "probe starved of CPU",
		About: "Attempts of a probe ran into their timeout while the node's processors were busy for 90 % of the time or more, or tasks waited for " +
			"one for 50 % of it (PSI). Or attempts failed while the container's own CPU limit, or its pod's, was exhausted in half of the periods and " +
			"its threads were stopped for 25 % of the time or more; that is certain from 90 % of the periods and 50 % of the time on. It is reported when such attempts, with the wait that follows each, took 10 ms and " +
			"5 % of the start or more, or where a liveness or startup probe failed because of it.",
		Find: findStarvedProbe,
	}
}

// saturated reports whether the processors had more to do than they could.
func saturated(u *trace.Usage) bool {
	return busyShare(u) >= 90 || percentOf(stalled(u, trace.ResourceCPU).Some, u.Interval) >= 50
}

// busyShare is how busy the processors were, in percent; 0 where that is not known.
func busyShare(u *trace.Usage) int {
	return percentOf(u.Busy, u.Interval*time.Duration(u.CPUs))
}

// stalled is the kernel's pressure figure of a resource; zero where it has none.
func stalled(u *trace.Usage, resource trace.Resource) trace.Stall {
	for _, s := range u.Stalls {
		if s.Resource == resource {
			return s
		}
	}
	return trace.Stall{}
}

func percentOf(a, b time.Duration) int {
	if b <= 0 {
		return 0
	}
	return int(100 * float64(a) / float64(b))
}

// findStarvedProbe tells a limit of the container's own from a busy node: an attempt that the limit held back counts for that alone.
func findStarvedProbe(c *Case) []Finding {
	var node, own starving
	attempts := ownSpans[*trace.ProbeAttempt](c)
	own.certain = true
	for i := range attempts {
		a := &attempts[i]
		if heldBack(a.Event) {
			own.certain = own.certain && heldHard(a.Event.Throttle)
			own.add(a, c.heldBackFor(a), evidence(a.Rec(), "%s: %s after %s: %s; %s", say.Target(probeOf(a.Event)), a.Event.Result, human.Duration(a.Dur()),
				quoted(a.Event.Output), throttleText(a.Event.Throttle)))
			continue
		}
		if u := c.saturatedDuring(a.Start, a.Stop); u != nil && a.Event.TimedOut {
			node.add(a, c.starved(a), evidence(a.Rec(), "%s: %s after %s: %s", say.Target(probeOf(a.Event)), a.Event.Result, human.Duration(a.Dur()),
				quoted(a.Event.Output)), usageEvidence(u))
		}
	}
	return slices.Concat(
		own.finding(c, "the container's own CPU limit held it back",
			"Raise the container's CPU limit (or the pod's), or leave it out: the node may have processors to spare. A limit that is enough for the program at work may be little for its start.",
			"With a higher limit the same attempts fail as well, or the program's log shows that it was stuck for a reason of its own."),
		node.finding(c, "the node's processors were saturated",
			"Give the container a CPU request that it gets under load, raise the probe's timeoutSeconds, and see what uses the processors (KL23; kubectl top, systemd-cgtop).",
			"The same attempts time out on an idle node, or the program's log shows that it was stuck for a reason of its own."),
	)
}

// starving are attempts that failed for one reason.
type starving struct {
	n, timeouts int
	gaveUp      bool
	certain     bool
	name        string
	at          []stretch
	evidence    []Evidence
}

func (s *starving) add(a *Span[*trace.ProbeAttempt], at []stretch, e ...Evidence) {
	s.n++
	if a.Event.TimedOut {
		s.timeouts++
	}
	s.name = say.Target(probeOf(a.Event))
	s.gaveUp = s.gaveUp || a.Event.Probe != trace.ProbeReadiness && a.Event.State == trace.ProbeDenies
	if a.Event.Probe != trace.ProbeLiveness { // nobody waits for that one to be ready
		s.at = append(s.at, at...)
	}
	s.evidence = append(s.evidence, e...)
}

func (s *starving) finding(c *Case, why, remedy, disproof string) []Finding {
	f := Finding{Confidence: Likely, Cost: covered(s.at), Evidence: few(s.evidence), Remedy: remedy, RuledOutBy: disproof}
	if s.certain {
		f.Confidence = Certain
	}
	if s.n == 0 || !s.gaveUp && !c.material(f.Cost) {
		return nil
	}
	did := "failed " + times(s.n)
	if s.timeouts == s.n {
		did = "ran into its timeout " + times(s.n)
	}
	f.Sentence = fmt.Sprintf("the %s %s while %s", s.name, did, why)
	if f.Cost > 0 {
		f.Sentence += ", which cost " + human.Duration(f.Cost)
	}
	return []Finding{f}
}

// saturatedDuring returns figures that tell that the processors were saturated for most of a time.
func (c *Case) saturatedDuring(from, to time.Time) *Point[*trace.Usage] {
	usages := nodePoints[*trace.Usage](c)
	for i := range usages {
		u := &usages[i]
		end := u.Rec.At()
		common := covered(clip([]stretch{{from, to}}, end.Add(-u.Event.Interval), end))
		if saturated(u.Event) && 2*common >= min(to.Sub(from), u.Event.Interval) && common > 0 {
			return u
		}
	}
	return nil
}

// starved is what an attempt and the wait that follows it took of the critical path.
func (c *Case) starved(a *Span[*trace.ProbeAttempt]) []stretch {
	at := c.on(a.ID(), a.Start, a.Stop)
	if w := c.waitAfter(a); w != nil {
		at = append(at, c.on(w.ID(), w.Start, w.Stop)...)
	}
	return at
}

// waitAfter is the wait of a probe that follows an attempt.
func (c *Case) waitAfter(a *Span[*trace.ProbeAttempt]) *Span[*trace.Wait] {
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		if w := &waits[i]; w.Event.For == trace.WaitProbe && w.Event.Target == probeOf(a.Event) && !w.Start.Before(a.Stop.Add(-time.Millisecond)) {
			return w
		}
	}
	return nil
}
