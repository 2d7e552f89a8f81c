package podruntime

import (
	"context"
	"fmt"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/slots"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lease is a pod's hold on one slot of runtime work. It spans the pod's
// consecutive runtime steps, so that a pod that has begun is finished before the next
// begins, and is dropped while the pod waits for something else, such as a pull.
type lease struct {
	slots *slots.Slots
	order uint64
	bus   *trace.Bus

	mu     sync.Mutex
	held   bool
	taking chan struct{} // closed when the step that waits for the slot has it, or gave up
}

// take returns when the pod holds a slot. Of steps that come at once, one waits for
// the slot and the others for it.
func (l *lease) take(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.held {
			l.mu.Unlock()
			return nil
		}
		taking := l.taking
		if taking == nil {
			l.taking = make(chan struct{})
			l.mu.Unlock()
			return l.acquire(ctx)
		}
		l.mu.Unlock()
		if err := l.follow(ctx, taking); err != nil {
			return err
		}
	}
}

func (l *lease) acquire(ctx context.Context) error {
	err := l.slots.Acquire(ctx, l.order)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = err == nil
	close(l.taking)
	l.taking = nil
	return err
}

func (l *lease) follow(ctx context.Context, taking <-chan struct{}) error {
	wait := trace.Wait{For: trace.WaitQueue, On: "the slot that another step of the pod waits for"}
	span := trace.Begin(l.bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(l.bus, span, wait) }()
	select {
	case <-taking:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a slot: %w", context.Cause(ctx))
	}
}

func (l *lease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.held = false
		l.slots.Release()
	}
}
