package cause

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// slowProbing is what a probe's figures must cost to be worth a word; early attempts come closer together than that.
const slowProbing = 500 * time.Millisecond

// shortestPeriod is the least that periodSeconds can be; probeSlack is how late an attempt may come after it.
const (
	shortestPeriod = time.Second
	probeSlack     = 200 * time.Millisecond
)

func probeTiming() Rule {
	return Rule{
		ID: "KL19", Name: "probe period or delay decides readiness",
		About: "The pod became ready late because of a probe's figures: the initial delay before the first attempt, the period between the last " +
			"attempt that failed and the one that succeeded, or the required attempts in a row. It is reported for waits of a startup or readiness " +
			"probe on the way from started to ready that end in a success and together took 500 ms and 5 % of the start or more. Waits that " +
			"end in another failure are the program's time, not the probe's; so is a wait of periodSeconds that is 1, or less than a third of all waits of the probe. It is certain where the pod's spec is known and has the figure.",
		Find: findProbeTiming,
	}
}

// probeOf is an attempt's probe, as waits for it name it.
func probeOf(e *trace.ProbeAttempt) trace.Target {
	return trace.Target{Kind: trace.TargetProbe, Name: string(e.Probe), Container: e.Container}
}

// probeWait is a wait of a probe that its own figures are the reason for.
type probeWait struct {
	holdup
	probe   trace.Target
	why     string
	certain bool // the figure was the reason
	whole   bool // all of the wait was due to it
	dur     time.Duration
}

// idleProbes finds them.
func (c *Case) idleProbes() (out []probeWait) {
	attempts := ownSpans[*trace.ProbeAttempt](c)
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		w := &waits[i]
		if w.Event.For != trace.WaitProbe || w.Event.Target.Name == string(trace.ProbeLiveness) {
			continue
		}
		before, after := around(attempts, w)
		p := probeWait{holdup: holdup{at: c.on(w.ID(), w.Start, w.Stop), what: say.On(w.Event), evidence: waitEvidence(w), open: w.Open, target: w.Event.Target.Kind}, probe: w.Event.Target, dur: w.Dur()}
		passed := after != nil && (after.Event.Result == trace.ProbeSuccess || after.Event.Result == trace.ProbeWarning)
		switch {
		case before == nil && (passed || w.Open):
			p.why = "its first attempt had to wait for initialDelaySeconds"
			if s := c.probeSpec(w.Event.Target); s != nil && s.Delay > 0 {
				p.why, p.certain = p.why+" ("+seconds(s.Delay)+")", passed && p.dur >= s.Delay-time.Second
			} else if s != nil {
				p.why, p.certain = "its first attempt had to wait for periodSeconds ("+seconds(s.Period)+")", passed && p.dur <= s.Period+time.Second
			}
		case !passed:
			continue
		case before.Event.Result == trace.ProbeSuccess || before.Event.Result == trace.ProbeWarning:
			p.why, p.certain, p.whole = "one success was not enough for successThreshold", true, true
		case w.Dur() <= shortestPeriod+probeSlack, 3*w.Dur() < w.Stop.Sub(firstWait(waits, w)):
			continue // no period is shorter; or the program was what took long, and an earlier attempt would have failed too
		default:
			p.why = "after an attempt that failed, the next had to wait for periodSeconds"
			if s := c.probeSpec(w.Event.Target); s != nil {
				p.why, p.certain = p.why+" ("+seconds(s.Period)+")", p.dur <= s.Period+time.Second
			}
		}
		out = append(out, p)
	}
	return out
}

// firstWait is when the first wait of a wait's probe began.
func firstWait(waits []Span[*trace.Wait], w *Span[*trace.Wait]) time.Time {
	for i := range waits {
		if waits[i].Event.For == trace.WaitProbe && waits[i].Event.Target == w.Event.Target {
			return waits[i].Start
		}
	}
	return w.Start
}

// seconds is a figure of a probe as it stands in a spec.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// probeSpec is a probe's configuration; nil where the pod's spec is not known.
func (c *Case) probeSpec(probe trace.Target) *trace.ProbeSpec {
	spec := c.spec()
	if spec == nil {
		return nil
	}
	for _, all := range [][]trace.ContainerSpec{spec.Containers, spec.InitContainers} {
		for i := range all {
			for j := range all[i].Probes {
				if s := &all[i].Probes[j]; all[i].Name == probe.Container && string(s.Probe) == probe.Name {
					return s
				}
			}
		}
	}
	return nil
}

// around finds the attempts of a wait's probe before and after it.
func around(attempts []Span[*trace.ProbeAttempt], w *Span[*trace.Wait]) (before, after *Span[*trace.ProbeAttempt]) {
	for i := range attempts {
		a := &attempts[i]
		switch {
		case probeOf(a.Event) != w.Event.Target:
		case !a.Stop.After(w.Start):
			before = a
		case after == nil && !w.Open && !a.Start.Before(w.Stop):
			after = a
		}
	}
	return before, after
}

func findProbeTiming(c *Case) []Finding {
	all := c.idleProbes()
	var at []stretch
	var long *probeWait
	for i := range all {
		p := &all[i]
		if p.open && c.Stage() == Starting && c.milestone(trace.MilestoneStarted) != nil {
			p.at = []stretch{{c.Now.Add(-p.dur), c.Now}} // nothing leads to ready yet: the time so far
		}
		at = append(at, p.at...)
		if long == nil || covered(p.at) > covered(long.at) {
			long = p
		}
	}
	cost := covered(at)
	if long == nil || cost < slowProbing || !c.speaks(cost, long.open) {
		return nil
	}
	f := Finding{Confidence: Likely, Cost: cost, Current: long.open && !c.up()}
	if !slices.ContainsFunc(all, func(p probeWait) bool { return covered(p.at) > 0 && !p.certain }) {
		f.Confidence = Certain
	}
	upTo := "up to "
	if !slices.ContainsFunc(all, func(p probeWait) bool { return covered(p.at) > 0 && !p.whole }) {
		upTo = ""
	}
	f.Sentence = fmt.Sprintf("the %s decided when it was ready: %s, which took %s%s", long.what, long.why, upTo, took(cost, f.Current))
	for i := range all {
		if covered(all[i].at) > 0 {
			f.Evidence = append(f.Evidence, all[i].evidence)
		}
	}
	attempts, ready := ownSpans[*trace.ProbeAttempt](c), c.milestone(trace.MilestoneReady)
	for i := range attempts {
		if a := &attempts[i]; probeOf(a.Event) == long.probe && (ready == nil || a.Start.Before(ready.At())) {
			f.Evidence = append(f.Evidence, evidence(a.Rec(), "%s: %s %s", long.what, a.Event.Result, quoted(a.Event.Output)))
		}
	}
	f.Evidence = few(f.Evidence)
	f.Remedy = "Lower periodSeconds (1 is cheap) and leave initialDelaySeconds at 0: early attempts then follow closely; use a startup probe for programs that take long. " +
		"successThreshold: 1 is enough for most."
	f.RuledOutBy = "The program's own log shows that it was able to serve only when the attempt succeeded."
	return []Finding{f}
}
