package control

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// moved returns a channel that closes when the socket's file may no longer be at its path. Nothing wakes this process
// before. Without inotify, it is nil.
func (l *listener) moved() (changed <-chan struct{}, stop func()) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, func() {}
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, l.path, unix.IN_ATTRIB|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_DONT_FOLLOW); err != nil {
		_ = f.Close()
		return nil, func() {}
	}
	c := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 4096)
		for l.there() { // also before the first event: it may have disappeared before the watch was set
			if _, err := f.Read(buf); err != nil {
				return
			}
		}
		close(c)
	})
	return c, func() {
		_ = f.Close()
		wg.Wait()
	}
}
