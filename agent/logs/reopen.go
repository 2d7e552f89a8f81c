package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// replaced reports whether the log has a new file, because it was rotated.
func (l *Log) replaced() (bool, error) {
	now, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // between the rename and the new file, or the pod is gone
	}
	if err != nil {
		return false, fmt.Errorf("follow container log: %w", err)
	}
	before, err := l.file.Stat()
	return err == nil && !os.SameFile(before, now), err
}

// finish writes the rest of a file to which the runtime writes nothing new, and continues with the log's new file, if it has one.
func (l *Log) finish(ctx context.Context, w *writer) (switched bool, err error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(Lag):
	}
	if err := l.drain(ctx, w); err != nil {
		return false, err
	}
	if replaced, err := l.replaced(); err != nil || !replaced {
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
