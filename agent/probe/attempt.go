package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxTries is how often an attempt is retried if it cannot be made. A failed probe is not retried.
const maxTries = 3

// maxSaid limits how many bytes of a probe's output are published.
const maxSaid = 256

// attempt is the input of one attempt.
type attempt struct {
	pod         *v1.Pod
	container   *v1.Container
	containerID string
	kind        Kind
	probe       *v1.Probe
	timeout     time.Duration
	early       bool
}

// outcome is the result of an attempt; an error means that it could not be made. Containers write the output; short
// limits it.
type outcome struct {
	ok      bool
	warning bool
	output  string
	// recorded is the text that is published in place of the output of a program in a container, which is never
	// published.
	recorded string
	// answer is what a failed attempt ran into, code the HTTP status or the command's exit status.
	answer trace.ProbeAnswer
	code   int
	// timedOut says that it took longer than its timeout.
	timedOut bool
	err      error
	// begun says that an attempt with an error had got the begin of its answer.
	begun bool
}

func success(output string) outcome { return outcome{ok: true, output: output} }
func late(output string) outcome    { return outcome{output: output, timedOut: true} }

func failure(output string) outcome { return outcome{output: output} }

// answered is a failure whose answer is known.
func answered(answer trace.ProbeAnswer, output string) outcome {
	return outcome{answer: answer, output: output}
}

// short limits the lengths of texts: errors of net/http and gRPC quote the server.
func (o outcome) short() outcome {
	o.output = trace.Clip(o.output, maxOutput)
	if o.err != nil && len(o.err.Error()) > maxOutput {
		o.err = errors.New(trace.Clip(o.err.Error(), maxOutput))
	}
	return o
}

func (o outcome) result() trace.ProbeResult {
	switch {
	case o.err != nil:
		return trace.ProbeError
	case o.warning:
		return trace.ProbeWarning
	case o.ok:
		return trace.ProbeSuccess
	}
	return trace.ProbeFailure
}

// attempt makes an attempt, counts its result and reports it.
func (p *Prober) attempt(ctx context.Context, t *target, turn uint64, parent trace.Span, a *attempt) {
	began := time.Now()
	ev := trace.ProbeAttempt{
		Container: a.container.Name, ContainerID: a.containerID, Probe: a.kind.Trace(),
		How: how(a.probe), Early: a.early,
	}
	span := trace.Begin(p.cfg.Bus, parent, ev)
	ctx = trace.ContextWith(ctx, span)
	base := p.baseline(a)
	var o outcome
	for range maxTries {
		if o = p.perform(ctx, a); o.err == nil || ctx.Err() != nil {
			break
		}
	}
	held := base.end(!o.ok && ctx.Err() == nil)

	p.mu.Lock()
	valid := turn == t.turn
	if valid {
		ev.Throttle = t.throttled(held)
	}
	if valid {
		p.count(t, a, o, began, &ev)
		ev.TimedOut, ev.Answer, ev.Code = o.timedOut, o.answer, o.code
		ev.Result, ev.Output = o.result(), cut(cmp.Or(o.recorded, o.output))
		if o.err != nil {
			ev.Output, ev.Class = cut(o.err.Error()), trace.ClassifyError(o.err)
		}
	}
	p.mu.Unlock()
	trace.End(p.cfg.Bus, span, ev)
	if valid {
		p.tell(ctx, a, o)
	}
}

// count counts a result and arms the next attempt. Called with mu.
//
// Upstream: pkg/kubelet/prober/worker.go, doProbe.
func (p *Prober) count(t *target, a *attempt, o outcome, began time.Time, ev *trace.ProbeAttempt) {
	t.cancel = nil
	defer func() { ev.State = t.value.Trace() }()
	if o.err != nil || a.early && !o.ok {
		p.after(t, began, time.Now())
		return
	}
	result := Failure
	if o.ok {
		result = Success
	} else {
		t.said = o.output
	}
	if t.last != result {
		t.last, t.run = result, 0
	}
	t.run++
	ev.Count, ev.Threshold = t.run, t.threshold(result)
	if t.run >= ev.Threshold {
		p.settle(t, result)
	}
	if o.ok && a.early { // up, even if it needs more successes: these follow with the normal period
		t.counts = began
	}
	p.after(t, began, time.Now())
}

// settle sets the probe's result.
func (p *Prober) settle(t *target, result Result) {
	if t.kind == Startup || t.kind == Liveness && result == Failure {
		t.held, t.run = true, 0
	}
	if t.value == result {
		return
	}
	t.value = result
	p.push(Update{UID: t.pod.pod.UID, Probe: t.kind, Container: t.spec.Name, ContainerID: t.id, Result: result})
	if t.kind == Startup && result == Success {
		for _, other := range []Kind{Readiness, Liveness} {
			if gated := t.probes[other]; gated != nil {
				p.first(gated, time.Now(), false)
			}
		}
	}
}

// tell emits the events for users.
//
// Upstream: pkg/kubelet/prober/prober.go, probe.
func (p *Prober) tell(ctx context.Context, a *attempt, o outcome) {
	reason, say := "Unhealthy", ""
	switch {
	case a.early && !o.ok:
		return
	case o.err != nil:
		say, o.output = "%s probe errored and resulted in unknown state: %s", o.err.Error()
		if o.begun { // upstream: pkg/probe/http/http.go, DoHTTPProbe
			say = "%s probe errored and resulted in failure state: %s"
		}
	case o.warning:
		reason, say = "ProbeWarning", "%s probe warning: %s"
	case !o.ok:
		say = "%s probe failed: %s"
	default:
		return
	}
	recorded := fmt.Sprintf(say, a.kind.title(), cmp.Or(o.recorded, o.output))
	if p.cfg.Events != nil {
		p.cfg.Events.Quote(context.WithoutCancel(ctx), a.pod, a.container.Name, v1.EventTypeWarning, reason, fmt.Sprintf(say, a.kind.title(), o.output), recorded)
		return
	}
	trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{
		Type: trace.EventWarning, Reason: reason, Message: recorded, Field: podspec.FieldPath(a.pod, a.container.Name),
	})
}

// cut returns the part of a text that is published.
func cut(s string) string { return strings.Clone(s[:min(len(s), maxSaid)]) }
