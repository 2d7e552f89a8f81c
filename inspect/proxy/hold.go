package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// Gate may hold the calls of a pod. A step.Switch is one.
type Gate interface {
	// Holds reports whether the pod's calls are asked for.
	Holds(pod trace.Pod) bool
	// Ask returns when the call may continue. An error means that nobody wants it any more.
	Ask(ctx context.Context, q *gate.Question) (gate.Answer, error)
}

const (
	// answerReserve is what is left of a call's deadline for the way back, workReserve what is left for the runtime's work, at most: of a
	// short deadline, half is.
	answerReserve = 5 * time.Second
	workReserve   = 30 * time.Second
	// mostHeld is how long a call without a deadline is held, which PullImage is: the kubelet may pull one image at a time, so that other
	// pods wait too.
	mostHeld = time.Minute
)

// mayHold reports whether a call may be held: one by which the pod's own worker in the kubelet makes or ends the pod. All others are
// another part's of the kubelet, which asks for all pods (Status, Version and the lists, whose silence makes the runtime or the PLEG
// unhealthy; removals, which its garbage collection makes one by one; the CPU manager's updates), or a probe's (ExecSync, whose delay is a
// failure).
func mayHold(v trace.Verb) bool {
	switch v { //nolint:exhaustive // the others
	case trace.VerbSandbox, trace.VerbImage, trace.VerbCreate, trace.VerbStart, trace.VerbKill, trace.VerbStopSandbox:
		return true
	}
	return false
}

// held reports whether the call is to be asked for.
func (c *call) held() bool {
	return c.p.cfg.Gate != nil && mayHold(c.action.Verb) && !c.subject.pod.IsZero() && c.p.cfg.Gate.Holds(c.subject.pod)
}

// before holds the call before it is forwarded. What it returns is the call's error, and it is not forwarded.
func (c *call) before(ctx context.Context) error {
	if !c.held() {
		return nil
	}
	q := c.question(gate.Before)
	a, err := c.ask(ctx, &q, c.reserve())
	if err == nil && a.Do == gate.Fail {
		err = status.Error(codes.Code(a.Code), cmp.Or(a.Message, "failed by the person who steps"))
	}
	return err
}

// after holds the call before its answer is forwarded. again says that it is to be made again.
func (c *call) after(ctx context.Context, err error) (again bool) {
	if !c.held() || ctx.Err() != nil {
		return false
	}
	q := c.question(gate.After)
	q.Took = time.Since(c.began)
	if err != nil {
		q.Err = errors.New(message(err))
	}
	a, asked := c.ask(ctx, &q, answerReserve)
	return asked == nil && a.Do == gate.Retry && expired(ctx) == nil
}

// ask asks the gate, and waits for as long as the answer says, until the call's deadline is near.
func (c *call) ask(ctx context.Context, q *gate.Question, reserve time.Duration) (gate.Answer, error) {
	q.Until = until(ctx, time.Now(), reserve)
	late, stop := context.WithDeadlineCause(trace.ContextWith(ctx, c.actSpan), q.Until, gate.ErrDeadline)
	defer stop()
	q.Held = func() func() {
		return c.wait(trace.Wait{Target: trace.Target{Kind: trace.TargetPerson}, Until: q.Until.UnixNano()})
	}
	a, err := c.p.cfg.Gate.Ask(late, q)
	if gone := expired(ctx); gone != nil {
		return a, gone
	}
	if err != nil || a.Delay <= 0 {
		return a, nil // a session that quits leaves the pod alone
	}
	delay := min(a.Delay, time.Until(q.Until))
	defer c.wait(trace.Wait{Target: trace.Target{Kind: trace.TargetDelay}, Limit: delay, Until: time.Now().Add(delay).UnixNano()})()
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.Left:
	case <-ctx.Done():
	}
	return a, expired(ctx)
}

// wait names a wait at the gate; the returned function ends it.
func (c *call) wait(w trace.Wait) (end func()) {
	w.For = trace.WaitGate
	span := trace.Begin(c.p.cfg.Bus, c.actSpan, w)
	return func() { trace.End(c.p.cfg.Bus, span, w) }
}

// until is when a call that is held now must continue, so that reserve is left of its deadline; of a short one, half is used.
func until(ctx context.Context, now time.Time, reserve time.Duration) time.Time {
	at, ok := ctx.Deadline()
	if !ok {
		return now.Add(mostHeld)
	}
	left := max(at.Sub(now), 0)
	return now.Add(left - min(reserve, left/2))
}

// reserve is how much of the call's deadline the runtime needs. It ends a container within the grace period that it is given.
func (c *call) reserve() time.Duration {
	if r, ok := c.request.(*runtimeapi.StopContainerRequest); ok {
		return time.Duration(min(max(r.GetTimeout(), 0), int64(24*time.Hour/time.Second)))*time.Second + workReserve
	}
	return workReserve
}

// question is what is asked.
func (c *call) question(when gate.When) gate.Question {
	pod, plan, ends := c.p.pods.known(c.subject.pod)
	q := gate.Question{
		Pod: c.subject.pod, Plan: trace.Plan{Steps: plan}, Ending: ends, Action: c.action.ID, Container: c.subject.container,
		Sandbox: c.subject.sandbox, When: when, Attempt: c.n, Title: "runtime.v1." + c.method.name + "Request", Object: pod,
	}
	if c.action.Verb == trace.VerbImage {
		q.Image = c.action.Target
	}
	if r, ok := c.request.(*runtimeapi.CreateContainerRequest); ok {
		q.Image = r.GetConfig().GetImage().GetUserSpecifiedImage()
	}
	if c.request != nil {
		q.Request = c.p.cfg.Calls.Readable(c.subject.pod, c.request)
	}
	return q
}

// object is a pod as far as a proxy knows it.
type object struct {
	pod        trace.Pod
	sandboxes  []string
	containers map[string]string
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"pod":    map[string]any{"metadata": map[string]string{"namespace": o.pod.Namespace, "name": o.pod.Name, "uid": o.pod.UID}},
		"status": map[string]any{"sandboxes": o.sandboxes, "containers": o.containers},
	})
}
