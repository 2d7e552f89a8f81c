package volume

import "context"

type leaseKey struct{}

// lease is an operation's place among those that work at once.
type lease struct {
	m     *Manager
	order uint64
	quit  <-chan struct{}
}

func (m *Manager) withLease(ctx context.Context, j job) context.Context {
	return context.WithValue(ctx, leaseKey{}, lease{m, j.order, j.quit})
}

// Released is closed when the volume that is being set up is not wanted any more. Calls that change
// something go on to their end; what only waits gives up, with ErrReleased.
func Released(ctx context.Context) <-chan struct{} {
	l, ok := ctx.Value(leaseKey{}).(lease)
	if !ok {
		return nil
	}
	return l.quit
}

// Idle is for a plugin's call that only waits, as for an attachment: other operations have its place
// among those that work at once while wait runs. It returns wait's error.
func Idle(ctx context.Context, wait func() error) error {
	l, ok := ctx.Value(leaseKey{}).(lease)
	if !ok {
		return wait()
	}
	l.m.slots.Release()
	err := wait()
	// The place is taken back even if ctx has ended: operate gives it back.
	if again := l.m.slots.Acquire(context.WithoutCancel(ctx), l.order); again != nil {
		return again
	}
	return err
}
