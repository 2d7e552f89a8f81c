package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// marks is a fanotify group with a mark on each directory that is there now.
type marks struct {
	group   *os.File
	raw     syscall.RawConn
	places  *places
	missing func(dir string)
	marked  map[string]fs.FileInfo // by path; nil for what is not there
	failed  chan error             // holds why the directories are followed no more
	close   func()                 // ends it and waits
}

// watch makes the group, and follows the directories from now on.
func (w *Watcher) watch() (*marks, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, fmt.Errorf("%w: fanotify_init: %w", ErrUnsupported, err)
	}
	m := &marks{
		group: os.NewFile(uintptr(fd), "fanotify"), missing: w.cfg.Missing, marked: map[string]fs.FileInfo{}, failed: make(chan error, 1),
	}
	m.close = func() { _ = m.group.Close() }
	if m.places, err = newPlaces(w.cfg.Dirs); err == nil {
		m.raw, err = m.group.SyscallConn()
	}
	if err == nil {
		err = m.look()
	}
	if err != nil {
		m.close()
		if m.places != nil {
			_ = m.places.file.Close()
		}
		return nil, err
	}
	var follows sync.WaitGroup
	follows.Go(m.follow)
	m.close = sync.OnceFunc(func() {
		_ = m.places.file.Close()
		follows.Wait()
		_ = m.group.Close()
	})
	return m, nil
}

// follow keeps the marks where the directories are, until the places are closed.
func (m *marks) follow() {
	for {
		err := m.places.changed()
		if err == nil {
			err = m.look()
		}
		if err != nil {
			m.failed <- err
			_ = m.group.Close()
			return
		}
	}
}

// look watches the places, and then marks what is there.
func (m *marks) look() error {
	if err := m.places.arm(); err != nil {
		return fmt.Errorf("watch CNI plugins: %w", err)
	}
	var err error
	return errors.Join(m.raw.Control(func(fd uintptr) { err = m.mark(int(fd)) }), err)
}

const markMask = unix.FAN_OPEN_EXEC | unix.FAN_CLOSE_NOWRITE | unix.FAN_EVENT_ON_CHILD

// mark marks each directory that is there. A mark that is there already stays. A directory that was moved away took its mark along: then
// all are taken off first.
func (m *marks) mark(fd int) error {
	now := map[string]fs.FileInfo{}
	for _, d := range m.places.dirs {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			now[d] = info
		}
		if was := m.marked[d]; was != nil && (now[d] == nil || !os.SameFile(was, now[d])) {
			_ = unix.FanotifyMark(fd, unix.FAN_MARK_FLUSH, 0, unix.AT_FDCWD, "/")
		}
	}
	for _, d := range m.places.dirs {
		if now[d] == nil {
			m.miss(d)
			continue
		}
		err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, markMask, unix.AT_FDCWD, d)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR): // it went just now, and that is told
			m.miss(d)
			continue
		case err != nil:
			return fmt.Errorf("%w: fanotify_mark %s: %w", ErrUnsupported, d, err)
		}
		m.marked[d] = now[d]
	}
	return nil
}

// miss tells once that a directory is not there.
func (m *marks) miss(dir string) {
	was, told := m.marked[dir]
	m.marked[dir] = nil
	if (was != nil || !told) && m.missing != nil {
		m.missing(dir)
	}
}
