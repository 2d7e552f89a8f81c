package nodelock

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
)

// Contended blocks until another process opens or removes the lock file (nil), or ctx ends (its error). Call it with the lock held:
// an agent with --exit-on-lock-contention then exits, so that the other process gets the lock.
//
// Upstream: cmd/kubelet/app/server_linux.go, watchForLockfileContention.
func (l *Lock) Contended(ctx context.Context) error {
	events, err := inotify.New()
	if err != nil {
		return fmt.Errorf("watch %s: %w", l.file.Name(), err)
	}
	if _, err := events.AddFile(l.file.Name(), inotify.Open|inotify.DeleteSelf); err != nil {
		return errors.Join(err, events.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = events.Close() }) // ends Read
	defer stop()
	_, err = events.Read(make([]byte, inotify.BufferSize))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, events.Close())
}
