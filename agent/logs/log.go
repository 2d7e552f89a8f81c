package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Log is a container's log, opened to be copied once.
type Log struct {
	path string
	opts Options
	file *os.File
	read *bufio.Reader
	// part is an entry of which the rest is not there yet.
	part []byte
	// left is how many entries are still wanted; negative is all.
	left int64
	// understood is whether an entry had the CRI's format.
	understood bool
}

// Open opens the log at path, where the entries begin that are wanted. The caller closes it.
func Open(path string, o Options) (*Log, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("open container log: %w", err)
	}
	f, err := os.Open(resolved)
	if err != nil {
		return nil, fmt.Errorf("open container log: %w", err)
	}
	l := &Log{path: resolved, opts: o, file: f, left: -1}
	if err := l.seek(); err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	l.read = bufio.NewReaderSize(f, 32<<10)
	return l, nil
}

func (l *Log) seek() error {
	if l.opts.Tail == nil {
		return nil
	}
	if !l.opts.Follow {
		l.left = *l.opts.Tail
	}
	st, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("tail of %s: %w", l.path, err)
	}
	start, err := tailStart(l.file, st.Size(), *l.opts.Tail)
	if err == nil {
		_, err = l.file.Seek(start, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("tail of %s: %w", l.path, err)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Copy writes the log. A nil stream is left out. Flush is called, if there is one, when nothing more
// is there for now. Following ends when running says that the container has ended and all that it logged is
// written, or with the error of ctx. Running is asked whenever the end of the log is reached; it must be cheap.
//
// Upstream: cri-client/pkg/logs, ReadLogs. Where upstream loses what was logged between its last
// read and a rotation, this reads the old file to its end first.
func (l *Log) Copy(ctx context.Context, running func(context.Context) (bool, error), flush func(), stdout, stderr io.Writer) error {
	if flush == nil {
		flush = func() {}
	}
	defer flush()
	w := newWriter(stdout, stderr, l.opts)
	err := l.drain(ctx, w)
	if err == nil && l.opts.Follow {
		err = l.follow(ctx, w, running, flush)
	}
	if err == nil && len(l.part) > 0 {
		err = l.entry(w, l.part) // a last entry that was never finished
	}
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// drain writes all entries that are there.
func (l *Log) drain(ctx context.Context, w *writer) error {
	for l.left != 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk, err := l.read.ReadSlice('\n')
		if err != nil || len(l.part) > 0 {
			l.part = append(l.part, chunk...)
			chunk = l.part
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read container log: %w", err)
		}
		err = l.entry(w, chunk)
		l.part = l.part[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// entry writes one entry. One that makes no sense is left out, unless it is the first.
func (l *Log) entry(w *writer, entry []byte) error {
	parsed, err := parse(entry)
	if err != nil {
		if l.understood {
			return nil
		}
		return fmt.Errorf("unsupported log format: %w: %.200q", err, entry)
	}
	l.understood = true
	if l.left > 0 {
		l.left--
	}
	return w.write(parsed)
}
