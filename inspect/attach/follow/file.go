package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

const (
	// look is how often a file is looked at for more, patience how long a Read waits for it.
	look     = 100 * time.Millisecond
	patience = 200 * time.Millisecond
	// MaxBack is how much of a log's past is read at most.
	MaxBack = 64 << 20
)

// File reads a log file and waits for more. Use [OpenFile].
type File struct {
	ctx    context.Context
	path   string
	f      *os.File
	at     int64
	open   bool // the last byte that was returned ends no line
	notice Notice
	gone   bool
	// Now, if it is set, is the path at which the file is now: its writer may have been started again with a root of its own. It is called by
	// Read.
	Now func() string
}

// Notice receives sentences on what happens to a log; gap says that some of it is missing.
type Notice func(gap bool, text string)

// Since finds out whether a piece of a log, which begins in the middle of it, begins before the time from which on the log is wanted.
type Since func(piece []byte) bool

// OpenFile opens a log to be followed until ctx ends. It begins at most MaxBack before its end: as late as the text there is too old,
// which since says; nil begins at the end. notice receives sentences on what happens to the file. path is one that root configured;
// anything but a regular file is refused.
func OpenFile(ctx context.Context, path string, since Since, notice Notice) (*File, error) {
	f := &File{ctx: ctx, path: path, notice: notice}
	var err error
	if f.f, err = openRegular(path); err != nil {
		return nil, err
	}
	if f.at, err = start(f.f, since); err != nil {
		return nil, errors.Join(err, f.f.Close())
	}
	return f, nil
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start is where reading begins: the first whole line of the latest piece that begins early enough.
func start(f *os.File, since Since) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := st.Size()
	if since == nil {
		return size, nil
	}
	const first, piece = 256 << 10, 64 << 10
	for back := int64(first); ; back *= 4 {
		back = min(back, MaxBack)
		if back >= size {
			return 0, nil
		}
		b := make([]byte, min(piece, back))
		n, err := f.ReadAt(b, size-back)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		b = b[:n]
		line := bytes.IndexByte(b, '\n') + 1
		if back == MaxBack || since(b[line:]) {
			return size - back + int64(line), nil
		}
	}
}

// Read implements io.Reader. It returns logfile.ErrIdle when nothing came for a moment, and io.EOF when ctx has ended.
func (f *File) Read(p []byte) (int, error) {
	for waited := time.Duration(0); ; waited += look {
		if f.ctx.Err() != nil {
			return 0, io.EOF
		}
		n, err := f.f.ReadAt(p, f.at)
		if n > 0 {
			f.at += int64(n)
			f.open = p[n-1] != '\n'
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		again, err := f.turn()
		if err != nil {
			return 0, err
		}
		if again {
			if f.open { // the last line of what was there is whole now
				f.open = false
				p[0] = '\n'
				return 1, nil
			}
			continue
		}
		if waited >= patience {
			return 0, logfile.ErrIdle
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(look):
		}
	}
}

// turn sees whether the file, which is at its end, was truncated or replaced, and goes on in the new one. Whoever rotates by renaming may
// still write to the old one for a moment: it is left when there is something in the new one.
func (f *File) turn() (again bool, err error) {
	own, err := f.f.Stat()
	if err != nil {
		return false, err
	}
	if own.Size() < f.at {
		f.say(true, "the log was truncated: what was written to it since the last look is missing")
		f.at = 0
		return true, nil
	}
	if f.Now != nil {
		f.path = f.Now()
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if !f.gone {
			f.gone = true
			f.say(false, "the log's file was removed or renamed: waiting for the new one")
		}
		return false, nil
	case err != nil:
		return false, err
	case os.SameFile(own, now) || now.Size() == 0:
		return false, nil
	}
	next, err := openRegular(f.path)
	if err != nil {
		return false, nil //nolint:nilerr // it is being replaced
	}
	if own, err = f.f.Stat(); err == nil && own.Size() > f.at { // it grew since
		return true, next.Close()
	}
	err = f.f.Close()
	f.f, f.at, f.gone = next, 0, false
	f.say(false, "the log was rotated")
	return true, err
}

func (f *File) say(gap bool, text string) {
	if f.notice != nil {
		f.notice(gap, f.path+": "+text)
	}
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
