package podruntime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// Gate is called before and after each step of a pod that it holds, and before each CRI call of the step. Package step uses it.
type Gate interface {
	// Holds reports whether the pod's steps run one by one.
	Holds(pod trace.Pod) bool
	// Ask returns when the pod may continue. An error means that neither this step nor any later one may run.
	Ask(ctx context.Context, q *gate.Question) (gate.Answer, error)
}

// refusal is the gate's answer that neither this step nor any later one may run.
type refusal struct{ err error }

func (e *refusal) Error() string { return e.err.Error() }
func (e *refusal) Unwrap() error { return e.err }

// perform runs one step, and repeats it while the gate answers retry.
func (r *run) perform(ctx context.Context, s *Step) error {
	if !r.gated {
		return r.act(ctx, s)
	}
	for n := 1; ; n++ {
		again, err := r.try(ctx, s, n)
		if !again {
			return err
		}
	}
}

// try asks the gate, runs one step and reports the result to the gate. A quit after the step applies to the next one.
func (r *run) try(ctx context.Context, s *Step, n int) (again bool, err error) {
	q := r.question(ctx, s, n)
	a, err := r.ask(ctx, &q)
	if err != nil {
		return false, &refusal{err}
	}
	calls := callGate{run: r, ctx: ctx, step: s, q: q}
	began := time.Now()
	if a.Do == gate.Fail {
		calls.fail = failure(&a)
	}
	switch {
	case makesCalls(s.Verb):
		err = r.act(cri.WithGate(ctx, calls.ask), s)
		if err == nil && !calls.failed {
			err = calls.fail // the step made no call
		}
	case calls.fail == nil:
		err = r.act(ctx, s)
	case s.Verb == trace.VerbPostStart:
		err = r.hookFailed(ctx, s, "", calls.fail)
	default:
		err = calls.fail
	}
	if calls.refused != nil {
		return false, &refusal{calls.refused}
	}
	q.When, q.Err, q.Took = gate.After, r.shownError(err), time.Since(began)-calls.held
	a, asked := r.ask(ctx, &q)
	return asked == nil && a.Do == gate.Retry, err
}

// shownError returns a copy of an error without secrets.
func (r *run) shownError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(r.cfg.Secrets.Text(r.ref.UID, err.Error()))
}

// ask asks the gate, then waits for the delay of its answer.
func (r *run) ask(ctx context.Context, q *gate.Question) (gate.Answer, error) {
	q.Held = func() func() {
		r.lease.drop() // waiting for a person: let other pods work
		return r.wait(ctx, trace.Wait{Target: trace.Target{Kind: trace.TargetPerson}})
	}
	a, err := r.cfg.Gate.Ask(ctx, q)
	if err != nil || a.Delay <= 0 {
		return a, err
	}
	r.lease.drop()
	defer r.wait(ctx, trace.Wait{Target: trace.Target{Kind: trace.TargetDelay}, Limit: a.Delay, Until: time.Now().Add(a.Delay).UnixNano()})()
	t := time.NewTimer(a.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.Left:
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
	return a, nil
}

// wait begins a wait at the gate; the returned function ends it.
func (r *run) wait(ctx context.Context, w trace.Wait) (end func()) {
	w.For = trace.WaitGate
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), w)
	return func() { trace.End(r.cfg.Bus, span, w) }
}

// question returns the question before a step.
func (r *run) question(ctx context.Context, s *Step, n int) gate.Question {
	q := gate.Question{
		Pod: r.ref, Plan: r.plan.Trace(), Ending: r.plan.Ending, Action: s.ID, Container: s.Container, Sandbox: r.sandboxID,
		When: gate.Before, Attempt: n, Object: object{r},
	}
	if c := podspec.Container(r.pod, s.Container); c != nil {
		q.Image = c.Image
	}
	q.Title, q.Request = r.preview(ctx, s)
	return q
}

// callGate asks the gate before each CRI call of one step, or makes the first of them fail.
type callGate struct {
	run     *run
	ctx     context.Context //nolint:containedctx // the step's, which ends before that of a patient call
	step    *Step
	q       gate.Question
	fail    error // the error for the first call
	failed  bool
	refused error
	held    time.Duration
}

func (c *callGate) ask(ctx context.Context, method string, req proto.Message) error {
	switch {
	case c.failed:
		return nil
	case c.fail != nil:
		c.failed = true
		return c.fail
	case c.refused != nil:
		return c.refused
	}
	began := time.Now()
	defer func() { c.held += time.Since(began) }()
	q := c.q
	q.When, q.Call, q.Title, q.Request = gate.Call, method, "runtime.v1."+method+"Request", c.run.readable(cri.Shown(ctx, req))
	q.Sandbox = c.run.sandboxID
	a, err := c.run.ask(c.ctx, &q)
	switch {
	case err != nil:
		c.refused = err
		return err
	case a.Do == gate.Fail:
		return failure(&a)
	case runtimeWork(c.step.Verb):
		return c.run.lease.resume(c.ctx)
	}
	return nil
}

// makesCalls reports whether a step consists of CRI calls. An injected failure then replaces the first call, and the
// runner handles it as a failed call.
func makesCalls(v trace.Verb) bool {
	switch v {
	case trace.VerbImage, trace.VerbSandbox, trace.VerbCreate, trace.VerbStart, trace.VerbResize, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox:
		return true
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbPostStart, trace.VerbPreStop, trace.VerbResizePod, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	return false
}

func failure(a *gate.Answer) error {
	return status.Error(codes.Code(a.Code), cmp.Or(a.Message, "failed by the person who steps"))
}

// object is the pod as a stepping user sees it: from its source, with its state in the runtime.
type object struct{ *run }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"pod": withoutSecrets(o.pod), "status": o.status()})
}
