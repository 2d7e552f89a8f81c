package flex

import (
	"context"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// locks is a lock for each volume that has a device, by its staging directory.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when released
}

// take waits for a volume's lock and returns the function that releases it.
func (p *Plugin) take(ctx context.Context, at volume.Place) (func(), error) {
	id := p.staging(at)
	give, busy := p.locks.try(id)
	if busy == nil {
		return give, nil
	}
	wait := trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetVolume, Name: at.Name}, Note: "another pod's operation on the same volume is in progress"}
	span := trace.Begin(p.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(p.cfg.Bus, span, wait) }()
	err := volume.Idle(ctx, func() error {
		for busy != nil {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-volume.Released(ctx):
				return volume.ErrReleased
			case <-busy:
			}
			give, busy = p.locks.try(id)
		}
		return nil
	})
	return give, err
}

func (l *locks) try(id string) (give func(), busy <-chan struct{}) {
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
