package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errTooLongPath is an error that a retry does not fix.
var errTooLongPath = errors.New("a socket's at most")

// listener is a socket file with a listener.
type listener struct {
	*net.UnixListener
	path string
	file os.FileInfo

	end   sync.Once
	ended error
}

// listen creates the socket, mode 0600, and its directory, mode 0700, if it is missing. It replaces a dead process's
// socket, but not one with a listener.
func listen(path string) (*listener, error) {
	if most := len(unix.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, fmt.Errorf("the path %s has %d bytes and %w %d: use a shorter path", path, len(path), errTooLongPath, most)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	defer unlock()
	if err := clearPath(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then it may be another one's
	if err = os.Chmod(path, 0o600); err == nil {
		var file os.FileInfo
		if file, err = os.Lstat(path); err == nil {
			return &listener{UnixListener: l, path: path, file: file}, nil
		}
	}
	l.Close() //nolint:errcheck // it served nobody
	return nil, err
}

// there reports whether the file at the path is still the one that was created.
func (l *listener) there() bool {
	file, err := os.Lstat(l.path)
	return err == nil && os.SameFile(file, l.file)
}

// close stops listening and removes the file, if it is still the one that was created. Further calls do nothing: the file of a new listener
// may have the same inode.
func (l *listener) close() error {
	l.end.Do(func() { l.ended = l.remove() })
	return l.ended
}

// remove is the first close. With the lock, no other listener replaces the file after this one has stopped listening.
func (l *listener) remove() error {
	if unlock, err := lock(l.path); err == nil {
		defer unlock()
	}
	err := l.Close()
	if l.there() {
		err = errors.Join(err, os.Remove(l.path))
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// clearPath removes a dead process's socket.
func clearPath(path string) error {
	file, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case file.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket: remove it, or use another path", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		defer conn.Close() //nolint:errcheck // nothing was said
		return inUse(path, conn)
	case errors.Is(err, fs.ErrNotExist): // its owner removed it just now
		return nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("left by a dead process: %w", err)
	}
	return nil
}

func inUse(path string, conn net.Conn) error {
	who := "another process"
	if u, ok := conn.(*net.UnixConn); ok {
		if p, err := peerOf(u); err == nil {
			who = fmt.Sprintf("process %d", p.pid)
		}
	}
	return fmt.Errorf("%s is already listening on %s: stop it, or use another path", who, path)
}
