package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kubeloupe/kubeloupe/inspect/step"
)

// Stepper is a step session with an agent's pod. Safe for concurrent use.
type Stepper struct {
	line  *line
	stops chan step.Stop
	done  chan struct{}

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan reply
	err     error // the reason for the end; set before done is closed
}

// Step begins to step a pod. Close releases it.
func (c *Client) Step(ctx context.Context, req StepRequest) (*Stepper, error) {
	l, err := c.request(ctx, request{Step: &req})
	if err != nil {
		return nil, err
	}
	if _, err := l.answer(ctx); err != nil {
		l.conn.Close() //nolint:errcheck // it was refused
		return nil, err
	}
	s := &Stepper{line: l, stops: make(chan step.Stop, 1), done: make(chan struct{}), waiting: map[uint64]chan reply{}}
	go s.read()
	go l.beat(s.done, func(v any) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return l.w.send(v)
	})
	return s, nil
}

// Stops delivers a stop when an action is paused. It holds only the newest stop, and is closed at the end.
func (s *Stepper) Stops() <-chan step.Stop { return s.stops }

// Done is closed when the session has ended: by Close, by the agent, or because it is complete. Err has the reason.
func (s *Stepper) Done() <-chan struct{} { return s.done }

// Err returns why the session ended; nil before that, and if it is complete.
func (s *Stepper) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the session: the pod continues by itself.
func (s *Stepper) Close() {
	s.line.conn.Close() //nolint:errcheck // it is finished either way
	<-s.done
}

// Do executes one command line and returns its output.
func (s *Stepper) Do(ctx context.Context, text string) (string, error) {
	answered := make(chan reply, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	s.waiting[id] = answered
	err := s.line.w.send(command{ID: id, Line: text})
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	if err != nil {
		return "", fmt.Errorf("agent at %s: %w: %w", s.line.path, ErrEnded, err)
	}
	select {
	case r := <-answered:
		return r.Text, remote(r.Err)
	case <-s.done:
		return s.last(answered)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// last returns the answer to a command at the end of the session: it may have arrived just before.
func (s *Stepper) last(answered <-chan reply) (string, error) {
	select {
	case r := <-answered:
		return r.Text, remote(r.Err)
	default:
	}
	if err := s.Err(); err != nil {
		return "", err
	}
	return "", fmt.Errorf("agent at %s: %w", s.line.path, ErrEnded)
}

// remote returns the session's error; those that callers know keep their identity.
func remote(text string) error {
	if text == "" {
		return nil
	}
	for _, known := range []error{step.ErrNothingWaits, step.ErrQuit, step.ErrElsewhere} {
		if text == known.Error() {
			return known
		}
		if about, ok := strings.CutSuffix(text, ": "+known.Error()); ok {
			return fmt.Errorf("%s: %w", about, known)
		}
	}
	return errors.New(text)
}

// read handles the agent's lines until the connection ends.
func (s *Stepper) read() {
	defer close(s.done)
	defer close(s.stops)
	defer s.line.conn.Close() //nolint:errcheck // all was read
	for {
		a, err := s.line.answer(context.Background())
		if err != nil || a.End != "" {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			return
		}
		switch {
		case a.Stop != nil:
			s.stop(*a.Stop)
		case a.Reply != nil:
			s.mu.Lock()
			if c := s.waiting[a.Reply.ID]; c != nil {
				c <- *a.Reply
				delete(s.waiting, a.Reply.ID)
			}
			s.mu.Unlock()
		}
	}
}

// stop replaces a stop that was not received by the newest.
func (s *Stepper) stop(stop step.Stop) {
	select {
	case <-s.stops:
	default:
	}
	s.stops <- stop
}
