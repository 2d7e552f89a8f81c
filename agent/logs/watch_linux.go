package logs

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// changes tells that something happened in a directory.
type changes struct {
	// C has true when a writer closed a file.
	C    chan bool
	file *os.File
	done chan struct{}
}

const watchMask = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_ONLYDIR

func watch(dir string) (*changes, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("follow container log: inotify: %w", err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, watchMask); err != nil {
		_ = file.Close() // nothing was read from it
		return nil, fmt.Errorf("follow container log: inotify watch on %s: %w", dir, err)
	}
	c := &changes{C: make(chan bool, 1), file: file, done: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *changes) read() {
	defer close(c.done)
	buf := make([]byte, 4096)
	for {
		n, err := c.file.Read(buf)
		if err != nil {
			return
		}
		closed := false
		for p := buf[:n]; len(p) >= unix.SizeofInotifyEvent; {
			closed = closed || binary.NativeEndian.Uint32(p[4:])&unix.IN_CLOSE_WRITE != 0
			p = p[min(len(p), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(p[12:]))):]
		}
		// One that is not taken yet stands for this one too.
		select {
		case c.C <- closed:
		case was := <-c.C:
			c.C <- was || closed
		}
	}
}

func (c *changes) close() {
	_ = c.file.Close() // ends read
	<-c.done
}
