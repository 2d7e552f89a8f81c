package podsource

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watcher tells what happens to manifests through inotify. It is used directly, not through
// fsnotify, for IN_CLOSE_WRITE: a manifest is read when its writer has closed it, neither earlier
// (half a manifest may be valid YAML of another pod) nor later.
type watcher struct {
	fd     int
	file   *os.File
	batchC chan []change
	done   chan struct{}
	// wd is the one watch in force and dir the directory it is on.
	wd  int
	dir string
}

const (
	watchSelf = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	watchMask = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE |
		unix.IN_CREATE | unix.IN_ATTRIB | watchSelf
	// pairWait is how long a rename's second half may lag behind its first.
	pairWait = 2 * time.Millisecond
)

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify_init: %w", err)
	}
	w := &watcher{
		fd: fd, file: os.NewFile(uintptr(fd), "inotify"), wd: -1,
		batchC: make(chan []change, 16), done: make(chan struct{}),
	}
	go w.read()
	return w, nil
}

// close ends the reader and waits for it.
func (w *watcher) close() {
	_ = w.file.Close()
	for {
		select {
		case <-w.batchC:
		case <-w.done:
			return
		}
	}
}

// batches returns the stream of events; a nil watcher has none.
func (w *watcher) batches() <-chan []change {
	if w == nil {
		return nil
	}
	return w.batchC
}

// arm watches whatever shows changes of path: the directory that it is, the one that holds the file
// that it is, or, while it does not exist, the nearest directory above that does. Calling it again
// is cheap and follows what has become of path.
func (w *watcher) arm(path string) error {
	for range 16 {
		dir := watchDir(path)
		wd, err := unix.InotifyAddWatch(w.fd, dir, watchMask)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue // it went away just now
		}
		if err != nil {
			return fmt.Errorf("inotify watch on %s: %w", dir, err)
		}
		if wd != w.wd && w.wd >= 0 {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(w.wd)) // a watch descriptor is not negative; it may be gone already
		}
		w.wd, w.dir = wd, dir
		if watchDir(path) == dir {
			return nil
		}
	}
	return fmt.Errorf("inotify watch for %s: directories above it keep changing", path)
}

func watchDir(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return path
	}
	for {
		path = filepath.Dir(path)
		if st, err := os.Stat(path); (err == nil && st.IsDir()) || path == filepath.Dir(path) {
			return path
		}
	}
}

// interpret sorts out what a batch means for path: files to look at, or everything.
func (w *watcher) interpret(path string, batch []change) (files []change, all bool) {
	for _, c := range batch {
		switch {
		case c.wd != w.wd && c.wd >= 0:
			// Left over from an earlier watch.
		case c.kind == everything, strings.HasPrefix(c.name, ".."), w.dir != path && w.dir != filepath.Dir(path):
			// Kubernetes' atomic writers swap a symlink named ..data.
			return nil, true
		case w.dir == path:
			if !hidden(c.name) {
				files = append(files, change{kind: c.kind, name: filepath.Join(path, c.name)})
			}
		case c.name == filepath.Base(path):
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return nil, true
			}
			files = append(files, change{kind: c.kind, name: path})
		}
	}
	return files, false
}

// read delivers events until the descriptor is closed.
func (w *watcher) read() {
	defer close(w.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		batch, lone := parseEvents(buf[:n])
		if lone {
			// A rename has two events and only the first is here.
			_ = w.file.SetReadDeadline(time.Now().Add(pairWait))
			if more, err := w.file.Read(buf); err == nil {
				rest, _ := parseEvents(buf[:more])
				batch = append(batch, rest...)
			}
			_ = w.file.SetReadDeadline(time.Time{})
		}
		markBackups(batch)
		w.batchC <- batch
	}
}

// parseEvents decodes inotify events. Lone is true when the last is the first half of a rename.
func parseEvents(buf []byte) (batch []change, lone bool) {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf[0:])) // the field is signed
		mask := binary.NativeEndian.Uint32(buf[4:])
		cookie := binary.NativeEndian.Uint32(buf[8:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			break
		}
		name := strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00")
		buf = buf[end:]
		c := change{wd: int(wd), name: name, cookie: cookie}
		lone = false
		switch {
		case mask&unix.IN_IGNORED != 0:
			continue
		case mask&unix.IN_Q_OVERFLOW != 0:
			c.wd, c.kind = -1, everything
		case mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
			c.kind = everything
		case mask&unix.IN_MOVED_FROM != 0:
			c.kind, lone = gone, true
		case mask&unix.IN_DELETE != 0:
			c.kind = gone
		case mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0:
			c.kind = written
		case mask&unix.IN_CREATE != 0:
			c.kind = created
		case mask&unix.IN_ATTRIB != 0:
			c.kind = attributes
		default:
			continue
		}
		batch = append(batch, c)
	}
	return batch, lone
}
