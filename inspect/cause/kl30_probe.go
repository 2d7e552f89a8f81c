package cause

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// usualThreshold is a probe's failureThreshold where no record has it: Kubernetes' default.
const usualThreshold = 3

func failingProbe() Rule {
	return Rule{
		ID: "KL30", Name: "probe fails",
		About: "A readiness, liveness or startup probe of a container fails as often in a row as its failureThreshold, or cannot be made, and the pod " +
			"is not ready because of that, or the container is restarted. It rests on the probe's attempts. A probe that fails and then succeeds in " +
			"time is not reported, nor is one whose attempts were starved of CPU (KL20).",
		Find: findFailingProbe,
	}
}

// probing is a probe of a container, and its last attempts.
type probing struct {
	container string
	kind      trace.ProbeKind
	run       []*Span[*trace.ProbeAttempt] // those in a row that failed, at the end
	kills     []*Span[*trace.ProbeAttempt] // those after which the container was ended
}

// probings are the pod's probes, in the order of their first attempts.
func (c *Case) probings() (out []*probing) {
	attempts := ownSpans[*trace.ProbeAttempt](c)
	for i := range attempts {
		a := &attempts[i]
		if a.Open || a.Event.Result == "" || a.Event.Early && bad(a.Event) {
			continue
		}
		at := slices.IndexFunc(out, func(p *probing) bool { return p.container == a.Event.Container && p.kind == a.Event.Probe })
		if at < 0 {
			at = len(out)
			out = append(out, &probing{container: a.Event.Container, kind: a.Event.Probe})
		}
		p := out[at]
		switch {
		case !bad(a.Event):
			p.run = nil
		default:
			if n := len(p.run); n > 0 && p.run[n-1].Event.ContainerID != a.Event.ContainerID {
				p.run = nil
			}
			p.run = append(p.run, a)
			if p.kind != trace.ProbeReadiness && p.denied() {
				p.kills = append(p.kills, a)
			}
		}
	}
	return out
}

// bad reports whether an attempt failed, or could not be made.
func bad(e *trace.ProbeAttempt) bool {
	return e.Result == trace.ProbeFailure || e.Result == trace.ProbeError
}

// count is how often in a row the probe has failed, and how often it may.
func (p *probing) count() (n, threshold int) {
	last := p.run[len(p.run)-1].Event
	return max(last.Count, len(p.run)), cmp.Or(last.Threshold, usualThreshold)
}

// denied reports whether the last attempt decides.
func (p *probing) denied() bool {
	if last := p.run[len(p.run)-1].Event; last.Threshold > 0 && last.Result == trace.ProbeFailure {
		return last.State == trace.ProbeDenies && last.Count >= last.Threshold
	}
	n, threshold := p.count()
	return n >= threshold
}

func findFailingProbe(c *Case) (out []Finding) {
	if s := c.Stage(); s == Ending || s == Over || s == Unknown {
		return nil
	}
	for _, p := range c.probings() {
		if f := c.failingProbe(p); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

func (c *Case) failingProbe(p *probing) *Finding {
	if p.kind != trace.ProbeReadiness {
		if len(p.kills) == 0 || c.starvedRun(p.kills) {
			return nil
		}
		return c.probeFinding(p, p.kills, c.stuck())
	}
	if len(p.run) == 0 || !p.denied() || !c.stuck() || c.starvedRun(p.run) {
		return nil
	}
	return c.probeFinding(p, p.run, true)
}

// starvedRun reports whether all of some attempts were starved of CPU: that is KL20's.
func (c *Case) starvedRun(run []*Span[*trace.ProbeAttempt]) bool {
	return !slices.ContainsFunc(run, func(a *Span[*trace.ProbeAttempt]) bool {
		return !heldBack(a.Event) && (!a.Event.TimedOut || c.saturatedDuring(a.Start, a.Stop) == nil)
	})
}

func (c *Case) probeFinding(p *probing, run []*Span[*trace.ProbeAttempt], current bool) *Finding {
	last := run[len(run)-1].Event
	f := &Finding{Confidence: Certain, Cost: c.costFrom(run[0].Start, run[len(run)-1].Stop, current), Current: current}
	for _, a := range run {
		text := fmt.Sprintf("%s: %s", say.Target(probeOf(a.Event)), a.Event.Result)
		if a.Event.Count > 0 {
			text += " (" + say.InARow(a.Event.Count, a.Event.Threshold) + ")"
		}
		f.Evidence = append(f.Evidence, evidence(a.Rec(), "%s after %s: %s", text, human.Duration(a.Dur()), quoted(a.Event.Output)))
	}
	n := max(last.Count, len(run))
	effect := "the pod is not ready"
	if p.kind != trace.ProbeReadiness {
		effect = "the kubelet restarts the container because of it (" + times(len(p.kills)) + " so far)"
		n = max(last.Count, 1)
	}
	f.Sentence = fmt.Sprintf("the %s probe of %s fails, %s in a row, and %s: %s", p.kind, p.container, times(n), effect, answerText(last))
	if p.kind != trace.ProbeReadiness {
		f.Evidence = append(f.Evidence, c.deaths(p.container)...)
		inTime(f.Evidence)
	}
	f.Evidence = few(f.Evidence)
	f.Remedy, f.RuledOutBy = c.probeRemedy(p, last), "The same request from the node, with the same timeout, succeeds while the probe fails; or without the probe the container exits as often."
	return f
}

// answerText says what an attempt ran into.
func answerText(e *trace.ProbeAttempt) string {
	switch {
	case e.Result == trace.ProbeError:
		return "it cannot be made: " + quoted(e.Output)
	case e.Answer == trace.AnswerUnreachable && e.TimedOut:
		return "no connection within its timeout"
	case e.TimedOut:
		return "no answer within its timeout"
	}
	switch e.Answer {
	case trace.AnswerStatus:
		return fmt.Sprintf("the app answers with HTTP status %d", e.Code)
	case trace.AnswerExit:
		return fmt.Sprintf("its command exits with status %d", e.Code)
	case trace.AnswerNotServing:
		return "the gRPC health service says that it does not serve"
	case trace.AnswerRPC:
		return "the server has no gRPC health service, or the call failed: " + quoted(e.Output)
	case trace.AnswerRefused:
		return "the connection is refused: nothing listens at the address and port"
	case trace.AnswerUnreachable:
		return "the address cannot be reached: " + quoted(e.Output)
	case trace.AnswerClosed:
		return "the app closes the connection without a response"
	case trace.AnswerProtocol:
		return "the app speaks another protocol than the probe (HTTP and HTTPS): " + quoted(e.Output)
	}
	return quoted(e.Output)
}

// probeRemedy says what to do about a probe that fails.
func (c *Case) probeRemedy(p *probing, e *trace.ProbeAttempt) string {
	logs := fmt.Sprintf("kubectl logs -n %s %s -c %s", c.Pod.Namespace, c.Pod.Name, p.container)
	if p.kind != trace.ProbeReadiness {
		logs += " -p"
	}
	slow := "raise the probe's timeoutSeconds or failureThreshold"
	if p.kind == trace.ProbeLiveness {
		slow += ", or give a slow start a startup probe"
	}
	switch {
	case e.Result == trace.ProbeError && e.Class.Of(trace.FailStart):
		return "Correct the probe's command: the container has no such program, or it must not be executed. A probe's command is not run in a shell."
	case e.Result == trace.ProbeError:
		return "Correct the probe: kubectl describe pod shows the reason; the app is not asked."
	case e.TimedOut:
		return "See what the app does meanwhile (" + logs + "); if it is slow and well, " + slow + "."
	}
	switch e.Answer {
	case trace.AnswerRefused:
		return "Compare the probe's port with the port that the app listens on, and on which address: one that listens on 127.0.0.1 only refuses the kubelet. If it only starts slowly, " + slow + ". The app's log: " + logs + "."
	case trace.AnswerStatus:
		return "Ask the app why: its log (" + logs + "), and the body of the response, which no record has. 404 is mostly a wrong path of the probe, 401 and 403 a path that needs a login, 5xx a dependency that the app misses."
	case trace.AnswerExit:
		return fmt.Sprintf("Run the command in the container and read its output, which no record has: kubectl exec -n %s %s -c %s -- COMMAND.", c.Pod.Namespace, c.Pod.Name, p.container)
	case trace.AnswerProtocol:
		return "Set the probe's scheme to the one that the app speaks: HTTPS or HTTP."
	case trace.AnswerUnreachable:
		return "The probe's host must be reachable from the node; without host, the probe asks the pod's own address. Check the pod's network and policies of the node."
	case trace.AnswerNotServing, trace.AnswerRPC, trace.AnswerClosed:
	}
	return "Ask the app why: its log (" + logs + "). The probe's request must be one that the app answers when it is well."
}
