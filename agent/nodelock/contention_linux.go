package nodelock

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Contended blocks until another process opens or removes the lock file (nil), or ctx ends (its error). Call it with the
// lock held: an agent that is started with --exit-on-lock-contention then makes room for the one that asked.
//
// Upstream: cmd/kubelet/app/server_linux.go, watchForLockfileContention.
func (l *Lock) Contended(ctx context.Context) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch %s: %w", l.file.Name(), err)
	}
	// Non-blocking, so reads go through the runtime's poller and Close ends them.
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, l.file.Name(), unix.IN_OPEN|unix.IN_DELETE_SELF); err != nil {
		return errors.Join(fmt.Errorf("watch %s: %w", l.file.Name(), err), events.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = events.Close() })
	defer stop()
	_, err = events.Read(make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, events.Close())
}
