package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault disturbs calls of one CRI method. Of its effects, Delay comes first, then Hang, then Code.
//
// On GetContainerEvents a fault affects open streams: Code ends them, Hang and Delay hold back their events.
type Fault struct {
	// Method is a CRI method's name, such as "StartContainer".
	Method string
	// Pod, Container and Image limit the fault to calls about these names; empty matches all. Pod and Container are the
	// names in the metadata, Image is the reference as the request has it.
	Pod, Container, Image string
	// Times is how many calls it affects; 0 means all until it is undone.
	Times int
	// Delay lets the call take longer.
	Delay time.Duration
	// Hang holds the call until its context ends or the fault is undone.
	Hang bool
	// Code is the gRPC code that the call fails with; codes.OK lets it continue.
	Code codes.Code
	// Message is the error's text.
	Message string
	// After lets the call do its work before the effects: the reply is late, or lost.
	After bool
}

// subject identifies the objects of a call.
type subject struct{ pod, container, image string }

type faultTable struct {
	mu      sync.Mutex
	active  []*activeFault
	changed chan struct{} // closed and replaced when a fault is added
}

type activeFault struct {
	Fault
	left   int // calls left to affect; negative means no limit
	undone chan struct{}
}

// Inject activates a fault, until it has affected Times calls or undo is called. undo can be called again. If several
// faults match a call, the oldest affects it.
func (s *Server) Inject(f Fault) (undo func(), err error) {
	if err := checkMethod("fault", f.Method); err != nil {
		return nil, err
	}
	if f.Times < 0 || f.Delay < 0 {
		return nil, errors.New("fault: want no negative Times or Delay")
	}
	if f.Delay == 0 && !f.Hang && f.Code == codes.OK {
		return nil, errors.New("fault: without Delay, Hang or Code it has no effect")
	}
	a := &activeFault{Fault: f, left: f.Times, undone: make(chan struct{})}
	if f.Times == 0 {
		a.left = -1
	}
	t := &s.faults
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = append(t.active, a)
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.left = 0
		close(a.undone)
	}), nil
}

// take returns the fault that affects this call, or nil.
func (t *faultTable) take(method string, about subject) *activeFault {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.active[:0]
	var hit *activeFault
	for _, f := range t.active {
		if hit == nil && f.left != 0 && f.matches(method, about) {
			hit = f
			f.left--
		}
		if f.left != 0 {
			kept = append(kept, f)
		}
	}
	clear(t.active[len(kept):])
	t.active = kept
	return hit
}

// watch returns a channel that is closed when a fault is added.
func (t *faultTable) watch() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

func (f *Fault) matches(method string, about subject) bool {
	return f.Method == method &&
		(f.Pod == "" || f.Pod == about.pod) &&
		(f.Container == "" || f.Container == about.container) &&
		(f.Image == "" || f.Image == about.image)
}

func (f *activeFault) apply(ctx context.Context) error {
	if err := sleep(ctx, f.Delay); err != nil {
		return err
	}
	if f.Hang {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.undone:
			return nil
		}
	}
	if f.Code == codes.OK {
		return nil
	}
	message := f.Message
	if message == "" {
		message = "simulated fault"
	}
	return status.Error(f.Code, message)
}
