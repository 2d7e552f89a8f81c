package volume

import (
	"context"
	"sync"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Locks has a lock for each volume of a plugin that pods share. The zero value has no lock taken. Safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when released
}

// Take waits for the lock of that ID and returns the function that releases it. While it waits, it publishes a Wait for the volume of that name.
// It returns the cause of ctx, or [ErrReleased].
func (l *Locks) Take(ctx context.Context, bus *trace.Bus, id, name string) (give func(), err error) {
	give, busy := l.Try(id)
	if busy == nil {
		return give, nil
	}
	wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetVolume, Name: name}, Note: "another pod's operation on the same volume is in progress"}
	span := trace.Begin(bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(bus, span, wait) }()
	err = Idle(ctx, func() error {
		for busy != nil {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-Released(ctx):
				return ErrReleased
			case <-busy:
			}
			give, busy = l.Try(id)
		}
		return nil
	})
	return give, err
}

// Try takes the lock of that ID and returns the function that releases it; or, if it is taken, what is closed when it is released.
func (l *Locks) Try(id string) (give func(), busy <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ch := l.held[id]; ch != nil {
		return nil, ch
	}
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	ch := make(chan struct{})
	l.held[id] = ch
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, id)
		close(ch)
	}, nil
}
