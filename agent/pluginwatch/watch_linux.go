package pluginwatch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// watcher tells that something changed in directories. What, a scan finds out.
type watcher struct {
	fd      int
	file    *os.File
	changes chan struct{}
	done    chan struct{}
}

const watchMask = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_ONLYDIR

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify_init: %w", err)
	}
	w := &watcher{fd: fd, file: os.NewFile(uintptr(fd), "inotify"), changes: make(chan struct{}, 1), done: make(chan struct{})}
	go w.read()
	return w, nil
}

func (w *watcher) read() {
	defer close(w.done)
	buf := make([]byte, 16<<10)
	for {
		if _, err := w.file.Read(buf); err != nil {
			return
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

// add watches a directory; again for one that is watched does nothing.
func (w *watcher) add(dir string) error {
	if _, err := unix.InotifyAddWatch(w.fd, dir, watchMask); err != nil {
		return fmt.Errorf("inotify watch on %s: %w", dir, err)
	}
	return nil
}

func (w *watcher) close() {
	_ = w.file.Close()
	<-w.done
}
