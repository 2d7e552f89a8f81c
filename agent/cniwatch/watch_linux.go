package cniwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// watch tells that something changed in a directory or with it: it may come, go and be exchanged, and so may those above it. It is no
// fsnotify, which cannot be told to leave out what others do in directories far above, as /tmp: that would wake this process each time.
type watch struct {
	dir     string
	file    *os.File
	raw     syscall.RawConn // so that no watch is set on a file that was closed meanwhile
	changes chan struct{}   // closed when there can be no more
	done    chan struct{}
	below   map[int32]string // by watch: the one name in it that matters; "" for all
}

const (
	self = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	// names is for a directory above one that is not there, or is a link: else what is below tells of itself when it goes.
	names = unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_CREATE
	files = unix.IN_CLOSE_WRITE | names
	// tries bounds how often what changes meanwhile is looked at again.
	tries = 16
)

func newWatch(dir string) (*watch, error) {
	w, err := openWatch(dir)
	if err == nil {
		go w.read()
	}
	return w, err
}

// openWatch returns a watch that nobody reads yet.
func openWatch(dir string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify_init: %w", err)
	}
	w := &watch{dir: dir, file: os.NewFile(uintptr(fd), "inotify"), changes: make(chan struct{}, 1), done: make(chan struct{})}
	if w.raw, err = w.file.SyscallConn(); err == nil {
		err = w.arm()
	}
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

func (w *watch) close() {
	_ = w.file.Close()
	<-w.done
}

// arm watches the directory and all above it, as far as they are there, until that is so at two looks.
func (w *watch) arm() (err error) {
	return errors.Join(w.raw.Control(func(fd uintptr) {
		for range tries {
			had := w.below
			if err = w.armOnce(int(fd)); err != nil || maps.Equal(w.below, had) {
				return
			}
		}
	}), err)
}

func (w *watch) armOnce(fd int) error {
	seen := map[int32]string{}
	name, mask := "", uint32(files)
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		wd, err := unix.InotifyAddWatch(fd, dir, mask|self|unix.IN_ONLYDIR)
		switch {
		case err == nil:
			seen[int32(wd)] = name
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
			return fmt.Errorf("inotify watch on %s: %w", dir, err)
		}
		if dir == filepath.Dir(dir) {
			break
		}
		name, mask = filepath.Base(dir), 0
		if info, bad := os.Lstat(dir); err != nil || bad != nil || !info.IsDir() {
			mask = names
		}
	}
	for wd := range w.below {
		if _, ok := seen[wd]; !ok {
			_, _ = unix.InotifyRmWatch(fd, uint32(wd))
		}
	}
	w.below = seen
	return nil
}

func (w *watch) read() {
	defer close(w.done)
	defer close(w.changes)
	buf := make([]byte, 16<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		matters, moved := w.sort(buf[:n])
		if moved && w.arm() != nil {
			return
		}
		if !matters {
			continue
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

// sort reports whether one of the events matters, and whether one is about the directory itself or those above it.
func (w *watch) sort(buf []byte) (matters, moved bool) {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf))
		bits := binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			break
		}
		name := strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00")
		buf = buf[end:]
		want, known := w.below[wd]
		switch {
		case bits&(unix.IN_Q_OVERFLOW|self|unix.IN_UNMOUNT) != 0, known && want != "" && want == name:
			matters, moved = true, true
		case known && want == "" && name != "" && bits&unix.IN_CREATE == 0: // a file that was made is not written yet
			matters = true
		}
	}
	return matters, moved
}
