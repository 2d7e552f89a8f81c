package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func starvedProbe() Rule {
	return Rule{
		ID: "KL20", Name: "probe starved of CPU",
		About: "Attempts of a probe ran into their timeout while the node's processors were busy for 90 % of the time or more, or tasks waited for " +
			"one for 50 % of it (PSI). It speaks where such attempts, with the wait that follows each, took 10 ms and 5 % of the start or more, " +
			"or where a liveness or startup probe gave up for it. A limit of the container's own does not show in the records and is not seen.",
		Find: findStarvedProbe,
	}
}

// timedOut reports whether an attempt ran into its timeout, as its output says.
func timedOut(e *trace.ProbeAttempt) bool {
	if e.Result != "failure" && e.Result != "error" {
		return false
	}
	out := strings.ToLower(e.Output)
	for _, w := range []string{"timed out", "timeout", "deadline exceeded"} {
		if strings.Contains(out, w) {
			return true
		}
	}
	return false
}

// saturated reports whether the processors had more to do than they could.
func saturated(u *trace.Usage) bool {
	return busyShare(u) >= 90 || percentOf(stalled(u, "cpu").Some, u.Interval) >= 50
}

// busyShare is how busy the processors were, in percent; 0 where that is not known.
func busyShare(u *trace.Usage) int {
	return percentOf(u.Busy, u.Interval*time.Duration(u.CPUs))
}

// stalled is the kernel's pressure figure of a resource; zero where it has none.
func stalled(u *trace.Usage, resource string) trace.Stall {
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

func findStarvedProbe(c *Case) []Finding {
	f := Finding{Confidence: Likely}
	attempts := ownSpans[*trace.ProbeAttempt](c)
	var at []stretch
	n, gaveUp, name := 0, false, ""
	for i := range attempts {
		a := &attempts[i]
		u := c.saturatedDuring(a.Start, a.Stop)
		if u == nil || !timedOut(a.Event) {
			continue
		}
		n++
		name = probeName(a.Event)
		gaveUp = gaveUp || a.Event.Probe != "readiness" && a.Event.State == "failure"
		if a.Event.Probe != "liveness" { // nobody waits for that one to be ready
			at = append(at, c.starved(a)...)
		}
		f.Evidence = append(f.Evidence, evidence(a.Rec(), "%s: %s after %s: %s", name, a.Event.Result, human.Duration(a.Dur()), quoted(a.Event.Output)),
			evidence(u.Rec, "%s", usageText(u.Event)))
	}
	f.Cost = covered(at)
	if n == 0 || !gaveUp && !c.material(f.Cost) {
		return nil
	}
	f.Sentence = fmt.Sprintf("the %s ran into its timeout %s while the node's processors were saturated", name, times(n))
	if f.Cost > 0 {
		f.Sentence += ", which cost " + human.Duration(f.Cost)
	}
	f.Evidence = few(f.Evidence)
	f.Remedy = "Give the container a CPU request that it gets under load, raise the probe's timeoutSeconds, and see who uses the processors (KL23; kubectl top, systemd-cgtop)."
	f.Disproof = "The same attempts time out on an idle node, or the program's log shows that it was stuck for a reason of its own."
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
		if w := &waits[i]; w.Event.For == trace.WaitProbe && w.Event.On == probeName(a.Event) && !w.Start.Before(a.Stop.Add(-time.Millisecond)) {
			return w
		}
	}
	return nil
}
