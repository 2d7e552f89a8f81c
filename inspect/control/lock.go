package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How often and how long the lock is retried: it is always held for a short time only.
const (
	lockTries = 20
	lockRetry = 50 * time.Millisecond
)

// lock excludes other listeners at the same path for a short time. It is a separate file, which only its owner can
// open: everyone who can read the directory could hold a lock on the directory.
func lock(path string) (unlock func(), err error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := private(f); err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	for range lockTries {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return func() { f.Close() }, nil //nolint:errcheck // closing unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		time.Sleep(lockRetry)
	}
	f.Close() //nolint:errcheck // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("another process has locked %s", name)
	}
	return nil, err
}

// private checks that a file is a regular one of root or this user, and makes it inaccessible for others.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	uid, ok := owner(info)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: remove it", f.Name())
	case !ok || !mine(uid):
		return fmt.Errorf("%s belongs to uid %d: remove it", f.Name(), uid)
	case info.Mode().Perm()&0o077 != 0:
		return f.Chmod(0o600)
	}
	return nil
}

// checkDir checks that only root and this user can replace the directory or its content. In a sticky one, such as /tmp,
// others cannot.
func checkDir(dir string) error {
	path, err := filepath.EvalSymlinks(dir)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return err
	}
	for {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		uid, ok := owner(info)
		if !ok || !mine(uid) {
			return fmt.Errorf("directory %s belongs to uid %d, who could replace the socket: the owner must be root or uid %d", path, uid, os.Geteuid())
		}
		if m := info.Mode(); m&fs.ModeSticky == 0 && (m.Perm()&0o002 != 0 || m.Perm()&0o020 != 0 && !ourGroup(info)) {
			return fmt.Errorf("directory %s is writable by other users (mode %04o), who could replace the socket: run chmod go-w, or use another path", path, m.Perm())
		}
		up := filepath.Dir(path)
		if up == path {
			return nil
		}
		path = up
	}
}

func mine(uid int) bool { return trusted(peer{uid: uid}) }

func owner(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(st.Uid), true
}

func ourGroup(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Gid == 0 || int(st.Gid) == os.Getegid())
}
