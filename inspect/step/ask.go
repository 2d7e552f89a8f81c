package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// answer is the person's answer for a paused action: the runner's answer, and the verdict of trace.Gate.
type answer struct {
	gate.Answer
	verdict trace.GateVerdict
	err     error
}

// The answers of Quit and Close for a paused action.
var (
	quitting = answer{verdict: trace.GateSkipRest, err: ErrQuit}
	opening  = answer{verdict: trace.GateOpen}
	late     = answer{verdict: trace.GateDeadline}
)

// Ask implements the runner's gate: it returns when the person releases the action, with ErrQuit when they quit, and
// with ctx's error when the action is no longer wanted. An action whose context ends with gate.ErrDeadline continues.
func (s *Session) Ask(ctx context.Context, q *gate.Question) (gate.Answer, error) {
	if !s.wants(q) {
		return gate.Answer{}, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return gate.Answer{}, over(ctx)
	}
	look, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	stop, held, err := s.arrive(q, cancel)
	if !held {
		return gate.Answer{}, err
	}
	if q.Held != nil {
		defer q.Held()()
	}
	stop.Request = pretty(q.Request)
	object := raw(q.Object)
	now := s.changes(look, q.Pod, &stop)
	stop.Netns = netns(now)
	cancel()
	return s.await(ctx, q, stop, object)
}

// arrive records that an action has reached the gate, and reports whether it is held there.
func (s *Session) arrive(q *gate.Question, look context.CancelFunc) (stop Stop, held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(q)
	stop = s.describe(q)
	hit, broke := s.breaks.hit(q, verbOf(q))
	switch {
	case s.quit:
		return stop, false, ErrQuit
	case s.open:
		return stop, false, nil
	case broke && s.pace == toBreak:
		stop.Hit = hit
	case broke:
	case s.pace == toBreak:
		return stop, false, nil
	case q.When == gate.Call && s.pace != toCall, q.When == gate.After && q.Err == nil:
		return stop, false, nil
	}
	s.pace, s.look = toAction, look
	return stop, true, nil
}

// await notifies the person of the stop and waits for the answer.
func (s *Session) await(ctx context.Context, q *gate.Question, stop Stop, object []byte) (gate.Answer, error) {
	waiting := make(chan answer, 1)
	s.mu.Lock()
	s.look = nil
	switch { // while the snapshot was taken
	case s.quit:
		waiting <- quitting
	case s.open:
		waiting <- opening
	case ctx.Err() != nil: // nobody is asked
	default:
		s.waiting, s.stop, s.object = waiting, stop, object
		s.offer(stop)
	}
	s.mu.Unlock()

	var a answer
	select {
	case a = <-waiting:
	case <-ctx.Done():
		if a.err = over(ctx); a.err == nil {
			a = late
		} // otherwise nobody answered, and there is no verdict
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	s.publish(ctx, q, &a)
	if a.verdict == trace.GateDeadline {
		s.news(q.Pod, stop.Place()+": continued by itself, as the call's deadline is near")
	}
	return a.Answer, a.err
}

// over returns the error of a context that has ended; nil if the action continues.
func over(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), gate.ErrDeadline) {
		return nil
	}
	return ctx.Err()
}

// publish publishes the person's answer. Called with mu.
func (s *Session) publish(ctx context.Context, q *gate.Question, a *answer) {
	if a.verdict == "" {
		return
	}
	ev := trace.Gate{Action: q.Action, Call: q.Call, Verdict: a.verdict, Delay: a.Delay}
	if q.When != gate.Before {
		ev.When = q.When
	}
	if a.Do == gate.Fail {
		ev.Code = codes.Code(a.Code).String()
	}
	trace.Point(s.cfg.Bus, trace.ForPod(trace.FromContext(ctx), q.Pod), ev)
}

// say answers the paused action, if there is one. Called with mu.
func (s *Session) say(a answer) bool {
	if s.waiting == nil {
		return false
	}
	s.waiting <- a
	s.waiting = nil
	return true
}

// follow records the result of an action. It forgets the results of an earlier plan when a new one begins, whether it
// is the same or another. Called with mu.
func (s *Session) follow(q *gate.Question) {
	if q.When == gate.After {
		a := Action{State: Done, Dur: q.Took}
		if q.Err != nil {
			a.State, a.Err = Failed, q.Err.Error()
		}
		s.ended[q.Action] = a
		return
	}
	ids := make([]string, 0, len(q.Plan.Steps))
	for i := range q.Plan.Steps {
		ids = append(ids, q.Plan.Steps[i].ID)
	}
	_, again := s.ended[q.Action]
	grown := len(ids) > len(s.plan) && slices.Equal(ids[:len(s.plan)], s.plan) // a plan that is not known in advance
	if again && q.When == gate.Before && q.Attempt <= 1 || !grown && !slices.Equal(ids, s.plan) {
		clear(s.ended)
	}
	s.plan, s.why, s.steps = ids, q.Plan.Why, q.Plan.Steps
	delete(s.ended, q.Action)
}

// describe creates the stop, without what takes time. Called with mu.
func (s *Session) describe(q *gate.Question) Stop {
	stop := Stop{
		Pod: q.Pod, Next: q.Action, When: q.When, Call: q.Call, Attempt: q.Attempt, Ending: q.Ending, RequestTitle: q.Title,
		Total: len(q.Plan.Steps), Sandbox: q.Sandbox, Attached: s.cfg.Attached, Only: s.cfg.Only, Passed: slices.Clone(s.passed), Took: q.Took,
	}
	if q.Err != nil {
		stop.Err = q.Err.Error()
	}
	if !q.Until.IsZero() {
		stop.Until = q.Until.UnixNano()
	}
	for i := range q.Plan.Steps {
		st := &q.Plan.Steps[i]
		a := Action{State: Todo}
		if st.ID == q.Action {
			a.State = Next
			stop.Index = i + 1
		}
		if ended, ok := s.ended[st.ID]; ok {
			a = ended
		}
		a.ID, a.Verb = st.ID, st.Verb
		stop.Actions = append(stop.Actions, a)
	}
	return stop
}

func verbOf(q *gate.Question) trace.Verb {
	for i := range q.Plan.Steps {
		if q.Plan.Steps[i].ID == q.Action {
			return q.Plan.Steps[i].Verb
		}
	}
	return ""
}

func raw(m json.Marshaler) []byte {
	if m == nil {
		return nil
	}
	p, err := m.MarshalJSON()
	if err != nil {
		return nil
	}
	return p
}

func pretty(m json.Marshaler) string {
	if m == nil {
		return ""
	}
	p, err := m.MarshalJSON()
	if err != nil {
		return "cannot be shown: " + err.Error()
	}
	return indent(p)
}

func indent(p []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, p, "", "  "); err != nil {
		return string(p)
	}
	return out.String()
}
