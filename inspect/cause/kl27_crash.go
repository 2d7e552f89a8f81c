package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// killed is the exit code of a container that was ended with SIGKILL, which is also what the kernel does where memory is short.
const killed = 128 + 9

// crashLoop is the reason of a container whose restart waits.
const crashLoop = "CrashLoopBackOff"

func crashBackoff() Rule {
	return Rule{
		ID: "KL27", Name: "container crash back-off",
		About: "A container keeps exiting, and the next restart has to wait (10s, doubling to maxContainerRestartPeriod, 5m). It rests on the " +
			"restart decisions and on the waits of kind backoff that name CrashLoopBackOff. It says what the exit code means, and why the container " +
			"exited where that is known: out of memory (KL32), a program that cannot be started (KL31), a probe that failed (KL30).",
		Find: findCrashBackoff,
	}
}

func findCrashBackoff(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitBackoff && e.Because(crashLoop)
	})
	decisions := slices.DeleteFunc(slices.Clone(ownPoints[*trace.Decision](c)), func(p Point[*trace.Decision]) bool {
		return p.Event.By != trace.ByRestart || p.Event.Verdict != trace.VerdictWait
	})
	w.cost = max(w.cost, c.besideInit(w.spans))
	if len(w.spans) == 0 || len(decisions) == 0 || !c.fails(w.cost, w.open != nil) {
		return nil
	}
	last := decisions[len(decisions)-1].Event
	f := Finding{Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: c.deaths(last.Subject)}
	for _, d := range decisions {
		f.Evidence = append(f.Evidence, evidence(d.Rec, "%s: %s", d.Event.Subject, d.Event.Reason))
	}
	keeps := "keeps"
	if w.open == nil {
		keeps = "kept"
	}
	why := keeps + " exiting (" + exits(last) + ")"
	done := last.ExitCode != nil && *last.ExitCode == 0
	if done {
		why = "completes again and again (" + exits(last) + "), although it should serve"
	}
	probe := c.endedBy(last.Subject)
	if probe != nil {
		f.Evidence = append(f.Evidence, evidence(probe.End, "%s probe of %s failed, %d of %d", probe.Event.Probe, last.Subject, probe.Event.Count, probe.Event.Threshold))
		why = fmt.Sprintf("is killed again and again because its %s probe fails (%s)", probe.Event.Probe, quoted(probe.Event.Output))
	}
	kills := c.oomKills(last.Subject)
	oom := probe == nil && (c.lastReason(last.Subject) == oomKilled || len(kills) > 0 && (last.ExitCode == nil || *last.ExitCode == killed))
	if f.Evidence = append(f.Evidence, kills...); oom {
		why = keeps + " running out of memory (" + exits(last) + ")"
	}
	inTime(f.Evidence)
	f.Evidence = few(f.Evidence)
	had := "had"
	if f.Current {
		had = "has"
	}
	started := c.startFailure(last.Subject, trace.FailStart)
	if started == nil {
		started = c.startFailure(last.Subject, trace.FailSecurity)
	}
	if started != nil && started.worked {
		started = nil
	}
	if started != nil && probe == nil && !oom {
		why = "cannot be started (" + tail(started.err) + ")"
	}
	f.Sentence = fmt.Sprintf("container %s %s, and its restart %s to wait: %s in back-off", last.Subject, why, had, took(w.cost, f.Current))
	switch {
	case probe != nil:
		f.Remedy = "Let the container answer the probe, or correct the probe's request; a slow container needs a larger timeoutSeconds or failureThreshold, or a startup probe."
		f.RuledOutBy = "Without the probe the container exits as often."
	case oom:
		f.Remedy = "Raise the container's memory limit, or let it use less: the kernel kills it at the limit. The back-off ends by itself once it runs for 10 minutes."
		f.RuledOutBy = "kubectl describe shows another reason than OOMKilled for its last termination: then only a child process was killed."
	case started != nil:
		_, f.Remedy, f.RuledOutBy = startText(started.class, last.Subject)
		f.Remedy += " It never ran, so it has no log."
	case done:
		f.Remedy, f.RuledOutBy = c.servesRemedy(last.Subject), "Somebody asks it to stop, and it exits with 0 then: a person, or a supervisor in the container."
	default:
		f.Remedy = fmt.Sprintf("Read its last log: kubectl logs -n %s %s -c %s -p. The back-off ends by itself once it runs for 10 minutes.", c.Pod.Namespace, c.Pod.Name, last.Subject)
		if last.ExitCode != nil {
			f.Remedy = strings.TrimSpace(f.Remedy + " " + exitRemedy(*last.ExitCode))
		}
		f.RuledOutBy = "Something else killed the container (the OOM killer, a person): then that is the cause, and its log does not show it."
	}
	return []Finding{f}
}

// besideInit is how much of the critical path went by as a wait for init containers while one of them waited for its restart.
func (c *Case) besideInit(backoffs []Span[*trace.Wait]) time.Duration {
	var both []stretch
	for _, at := range c.pathStretches(func(s waterfall.Segment) bool { return s.Wait == trace.WaitInit }) {
		for _, b := range backoffs {
			both = append(both, clip([]stretch{at}, b.Start, b.Stop)...)
		}
	}
	return covered(both)
}

// crashing are the containers whose restart waits in crash-loop back-off, or has waited and is not done.
func (c *Case) crashing() (names []string) {
	var looping []string // by their status, which stays until they run
	for _, s := range c.states() {
		if s.Reason == crashLoop {
			looping = append(looping, s.Name)
		}
	}
	for _, s := range ownSpans[*trace.Wait](c) {
		if s.Event.For != trace.WaitBackoff {
			continue
		}
		add := func(name, reason string) {
			if reason == crashLoop && (s.Open || slices.Contains(looping, name)) {
				names = append(names, name)
			}
		}
		add(s.Event.Target.Name, s.Event.Reason)
		for _, h := range s.Event.More {
			add(h.Name, h.Reason)
		}
	}
	return names
}

// endedBy is the attempt of a liveness or startup probe for which the container that died last was ended; nil when it ended
// otherwise.
func (c *Case) endedBy(container string) *Span[*trace.ProbeAttempt] {
	id := ""
	for _, p := range ownPoints[*trace.PLEGEvent](c) {
		if p.Event.Type == trace.ContainerDied && p.Event.Name == container {
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

// lastReason is the reason of a container's last exit; "" where no status has it.
func (c *Case) lastReason(container string) string {
	for _, s := range c.states() {
		if e := s.exit(); s.Name == container && e != nil {
			return e.Reason
		}
	}
	return ""
}

// exits says how a container ended, as the decision has it.
func exits(d *trace.Decision) string {
	if d.ExitCode == nil {
		return "its exit code is not known"
	}
	text := say.Code(*d.ExitCode)
	if d.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", d.Attempt)
	}
	return text
}

// deaths are the ends of a container as the runtime told them.
func (c *Case) deaths(container string) (out []Evidence) {
	for _, p := range ownPoints[*trace.PLEGEvent](c) {
		if p.Event.Type == trace.ContainerDied && p.Event.Name == container {
			out = append(out, evidence(p.Rec, "container %s exited", container))
		}
	}
	return out
}
