package inotify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher is an inotify instance. One goroutine reads; the other methods are safe for concurrent use.
type Watcher struct {
	file *os.File
	raw  syscall.RawConn // so that no watch is set on a file that was closed meanwhile
}

// New returns a watcher without watches. Call Close when done.
func New() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify_init: %w", limit(err))
	}
	// Non-blocking, so reads go through the Go runtime's poller and Close ends them.
	w := &Watcher{file: os.NewFile(uintptr(fd), "inotify")}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// limit returns ErrLimit for the kernel's two errors that mean "too many".
func limit(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("%w (%w)", ErrLimit, err)
	}
	return err
}

// Add watches a directory for ops. If it is already watched, its ops change and the watch stays the same. Errors name
// the directory; they can be fs.ErrNotExist, unix.ENOTDIR, ErrLimit, and fs.ErrClosed after Close.
func (w *Watcher) Add(dir string, ops Op) (watch int, err error) {
	return w.add(dir, uint32(ops)|unix.IN_ONLYDIR)
}

// AddFile watches a file or a directory for ops.
func (w *Watcher) AddFile(path string, ops Op) (watch int, err error) {
	return w.add(path, uint32(ops))
}

func (w *Watcher) add(path string, mask uint32) (wd int, err error) {
	if w.raw.Control(func(fd uintptr) { wd, err = unix.InotifyAddWatch(int(fd), path, mask) }) != nil {
		err = fs.ErrClosed
	}
	if err != nil {
		return -1, fmt.Errorf("inotify watch on %s: %w", path, limit(err))
	}
	return wd, nil
}

// Remove ends a watch. One that no longer exists is no error.
func (w *Watcher) Remove(watch int) {
	_ = w.raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(watch)) }) // a watch descriptor is not negative
}

// Read waits for events and returns those that fit in buf, which must have room for at least one event (BufferSize). It does not
// keep buf. It fails only if the watcher was closed.
func (w *Watcher) Read(buf []byte) ([]Event, error) {
	n, err := w.file.Read(buf)
	if err != nil {
		return nil, fmt.Errorf("read inotify: %w", err)
	}
	return parse(buf[:n]), nil
}

// ReadWithin is Read with a timeout: after d it returns os.ErrDeadlineExceeded.
func (w *Watcher) ReadWithin(buf []byte, d time.Duration) ([]Event, error) {
	if err := w.file.SetReadDeadline(time.Now().Add(d)); err != nil {
		return nil, fmt.Errorf("read inotify: %w", err)
	}
	events, err := w.Read(buf)
	if bad := w.file.SetReadDeadline(time.Time{}); bad != nil {
		return events, errors.Join(err, fmt.Errorf("read inotify: %w", bad))
	}
	return events, err
}

// Close ends all watches, and a Read that is waiting.
func (w *Watcher) Close() error { return w.file.Close() }

// parse decodes the kernel's data. It omits the removal of a watch: the caller who removed it knows, otherwise a Moved
// event came before.
func parse(buf []byte) []Event {
	var events []Event
	for len(buf) >= unix.SizeofInotifyEvent {
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			break
		}
		e := Event{
			Watch:  int(int32(binary.NativeEndian.Uint32(buf))), // the field is signed
			Op:     Op(binary.NativeEndian.Uint32(buf[4:])),
			Cookie: binary.NativeEndian.Uint32(buf[8:]),
			Name:   strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00"),
		}
		buf = buf[end:]
		if !e.Has(unix.IN_IGNORED) {
			events = append(events, e)
		}
	}
	return events
}
