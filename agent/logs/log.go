package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// Log is a container's log, opened to be copied once.
type Log struct {
	path  string
	opts  Options
	files *guestfile.Files
	file  *os.File
	read  *bufio.Reader
	watch func(dir string) (*changes, error)
	// part is the incomplete last entry, at most maxPart of it, or maxDocker.
	part []byte
	// long is the head of an entry that is longer: its text is written as it arrives.
	long *line
	// left is how many entries remain to be written; negative means all.
	left   int64
	format format
}

// maxPart is how much of an entry is kept until it is complete, in bytes. A runtime splits a container's lines into
// entries of 16 KiB; if configured not to (containerd, max_container_log_line_size), it writes any length.
const maxPart = 64 << 10

// Open opens the log at path, at the first requested entry. The caller closes it. The runtime names and writes the log (with
// cri-dockerd through a link). The content is the container's output: any bytes, at any rate.
func Open(ctx context.Context, files *guestfile.Files, path string, o Options) (*Log, error) {
	resolved, err := files.Resolve(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open container log: %w", err)
	}
	f, err := files.Open(ctx, resolved)
	if err != nil {
		return nil, fmt.Errorf("open container log: %w", err)
	}
	l := &Log{path: resolved, opts: o, files: files, file: f, watch: watch, left: -1}
	if err := l.seek(ctx); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	l.read = bufio.NewReaderSize(f, 32<<10)
	return l, nil
}

func (l *Log) seek(ctx context.Context) error {
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
	start, err := tailStart(ctx, l.file, st.Size(), *l.opts.Tail)
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

// Copy writes the log. A nil stream is skipped. Flush, if set, is called whenever following waits for more data, not at the end.
// Following ends when running reports that the container has exited and its whole log is written, or with the error of ctx.
// Running is called whenever the end of the log is reached; it must be cheap.
//
// Upstream: cri-client/pkg/logs, ReadLogs. Upstream loses the entries between its last read and a rotation, or an exit, if the
// runtime writes them late; this function reads the old file again after [Lag].
func (l *Log) Copy(ctx context.Context, running func(context.Context) (bool, error), flush func(), stdout, stderr io.Writer) error {
	if flush == nil {
		flush = func() {}
	}
	w := newWriter(stdout, stderr, l.opts)
	err := l.drain(ctx, w)
	if err == nil && l.opts.Follow {
		err = l.follow(ctx, w, running, flush)
	}
	if err == nil && len(l.part) > 0 {
		err = l.entry(w, l.part) // a last entry without an end
	}
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// drain writes all available entries.
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
		case errors.Is(err, bufio.ErrBufferFull) && len(l.part) < l.most():
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			err = l.stretch(w)
			l.part = l.part[:0]
			if err != nil {
				return err
			}
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

// most is how much of the incomplete last entry is kept.
func (l *Log) most() int {
	if beginsDocker(l.part) {
		return maxDocker
	}
	return maxPart
}

// stretch writes the available part of an entry that is too long to keep.
func (l *Log) stretch(w *writer) error {
	if l.long != nil {
		l.long.text = l.part
		return w.write(*l.long)
	}
	head, err := l.format.parse(l.part)
	if err != nil {
		l.long = &line{none: true} // it is omitted to its end, or ends the copy
		if beginsDocker(l.part) {
			return nil
		}
		return l.refuse(err, l.part)
	}
	if err := w.write(head); err != nil {
		return err
	}
	l.long = &head
	return nil
}

// entry writes one entry. An invalid one is omitted, unless it is the first.
func (l *Log) entry(w *writer, entry []byte) error {
	if long := l.long; long != nil {
		l.long = nil
		long.text = entry
		if long.partial {
			long.text = bytes.TrimSuffix(entry, []byte{'\n'})
		}
		if l.left > 0 && !long.none {
			l.left--
		}
		return w.write(*long)
	}
	parsed, err := l.format.parse(entry)
	if err != nil {
		return l.refuse(err, entry)
	}
	if l.left > 0 {
		l.left--
	}
	return w.write(parsed)
}

// refuse returns the error for an invalid entry: nil, unless it is the first.
func (l *Log) refuse(err error, entry []byte) error {
	if l.format.known != nil {
		return nil
	}
	return fmt.Errorf("unsupported log format: %w: %.200q", err, entry)
}
