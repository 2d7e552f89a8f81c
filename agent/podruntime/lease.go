package podruntime

import (
	"context"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/slots"
)

// lease is a pod's hold on one slot of runtime work. It spans the pod's
// consecutive runtime steps, so that a pod that has begun is finished before the next
// begins, and is dropped while the pod waits for something else, such as a pull.
type lease struct {
	slots *slots.Slots
	order uint64

	mu   sync.Mutex
	held bool
}

func (l *lease) take(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return nil
	}
	if err := l.slots.Acquire(ctx, l.order); err != nil {
		return err
	}
	l.held = true
	return nil
}

func (l *lease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.held = false
		l.slots.Release()
	}
}
