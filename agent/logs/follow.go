package logs

import (
	"context"
	"path/filepath"
	"time"
)

// Lag is how long after a container's exit, or after the runtime opened a new file for its log, the runtime may still write to the old
// one. containerd writes a log in a goroutine without waiting for it.
const Lag = 100 * time.Millisecond

// How long following waits before it checks without a notification: longer while nothing happens, and shortly after a
// writer closed the log, because that usually is the container's exit.
const (
	lookSoon = 10 * time.Millisecond
	lookLate = time.Second
)

func (l *Log) follow(ctx context.Context, w *writer, running func(context.Context) (bool, error), flush func()) error {
	var told chan bool // nil if the node has no inotify instance left: then it checks once per second
	if changes, err := l.watch(filepath.Dir(l.path)); err == nil {
		defer changes.close()
		told = changes.C
	}
	pause := lookLate
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		// Check before reading: then everything from before the exit is in the log, but for what the runtime has yet to write.
		alive, err := running(ctx)
		if err != nil {
			return err
		}
		if err := l.drain(ctx, w); err != nil {
			return err
		}
		flush()
		replaced, err := l.replaced()
		if err != nil {
			return err
		}
		if replaced || !alive {
			switched, err := l.finish(ctx, w)
			if err != nil || !switched && !alive {
				return err
			}
			if switched {
				continue
			}
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case closed := <-told:
			pause = lookLate
			if closed {
				pause = lookSoon
			}
		case <-timer.C:
			pause = min(2*pause, lookLate)
		}
	}
}
