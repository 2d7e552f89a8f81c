package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// How long following waits before it checks without a notification: longer while nothing happens, and shortly after a
// writer closed the log, because that usually is the container's exit.
const (
	lookSoon = 10 * time.Millisecond
	lookLate = time.Second
)

func (l *Log) follow(ctx context.Context, w *writer, running func(context.Context) (bool, error), flush func()) error {
	var told chan bool // nil if the node has no inotify instance left: then it checks once per second
	if changes, err := watch(filepath.Dir(l.path)); err == nil {
		defer changes.close()
		told = changes.C
	}
	pause := lookLate
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		// Check before reading: then everything from before the exit is in the log.
		alive, err := running(ctx)
		if err != nil {
			return err
		}
		if err := l.drain(ctx, w); err != nil {
			return err
		}
		if again, err := l.reopen(ctx, w); err != nil || again {
			if err != nil {
				return err
			}
			continue
		}
		if !alive {
			return nil
		}
		flush()
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

// reopen continues with the new file after the log was rotated, when the old one's end was read.
func (l *Log) reopen(ctx context.Context, w *writer) (bool, error) {
	now, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // between the rename and the new file, or the pod is gone
	}
	if err != nil {
		return false, fmt.Errorf("follow container log: %w", err)
	}
	if before, err := l.file.Stat(); err != nil || os.SameFile(before, now) {
		return false, err
	}
	if err := l.drain(ctx, w); err != nil { // nothing more is written to the old one
		return false, err
	}
	next, err := l.files.Open(ctx, l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("follow container log: %w", err)
	}
	_ = l.file.Close() // nothing was written
	l.file = next
	l.read.Reset(next)
	l.part, l.long = l.part[:0], nil // it will not be completed
	return true, nil
}
