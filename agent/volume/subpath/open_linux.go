package subpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openOrMake opens sub below the volume, and creates its missing directories; create says that the error is about one of these.
//
// Upstream: pkg/volume/util/subpath/subpath_linux.go, doBindSubPath.
func openOrMake(base *os.File, volume, sub string, mode os.FileMode) (f *os.File, create bool, err error) {
	f, err = openBeneath(base, sub)
	if errors.Is(err, unix.EXDEV) {
		if at, ok := back(base, volume, sub); ok {
			sub = at
			f, err = openBeneath(base, sub)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return f, false, err
	}
	if err := makeBeneath(base, sub, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, true, err
	}
	f, err = openBeneath(base, sub)
	return f, false, err
}

// openBeneath opens rel below base with O_PATH. Links are followed as long as they stay beneath base; other mounts
// below it are entered.
func openBeneath(base *os.File, rel string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, // triggers automounts
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := retry(base, rel, &how)
	if errors.Is(err, unix.ENOTDIR) {
		how.Flags &^= unix.O_DIRECTORY
		fd, err = retry(base, rel, &how)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open beneath the volume", Path: rel, Err: err}
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// retry repeats a call that the kernel gave up because something was renamed meanwhile.
func retry(base *os.File, rel string, how *unix.OpenHow) (fd int, err error) {
	for range 64 {
		fd, err = unix.Openat2(int(base.Fd()), rel, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return fd, err
}

// makeBeneath creates the missing directories of rel, with a mode.
//
// Upstream: pkg/volume/util/subpath/subpath_linux.go, doSafeMakeDir.
func makeBeneath(base *os.File, rel string, mode os.FileMode) error {
	elements := strings.Split(rel, "/")
	for i := range elements {
		below := path.Join(elements[:i+1]...)
		f, err := openBeneath(base, below)
		if err == nil {
			_ = f.Close()
			continue
		}
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		parent, err := openBeneath(base, path.Join(".", path.Join(elements[:i]...)))
		if err != nil {
			return err
		}
		err = makeIn(parent, elements[i], mode)
		_ = parent.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// makeIn creates one directory. If others create it at the same time, it is not changed.
func makeIn(parent *os.File, name string, mode os.FileMode) error {
	bits := uint32(mode.Perm())
	for _, b := range []struct {
		mode os.FileMode
		bit  uint32
	}{{os.ModeSetgid, unix.S_ISGID}, {os.ModeSetuid, unix.S_ISUID}, {os.ModeSticky, unix.S_ISVTX}} {
		if mode&b.mode != 0 {
			bits |= b.bit
		}
	}
	if err := unix.Mkdirat(int(parent.Fd()), name, uint32(mode.Perm())); err != nil {
		return &os.PathError{Op: "mkdir", Path: name, Err: err}
	}
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open the new directory", Path: name, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if err := unix.Fchmod(fd, bits); err != nil {
		return &os.PathError{Op: "chmod", Path: name, Err: err} // the umask may have removed bits
	}
	return nil
}

// openVolume opens the volume itself, which the agent trusts.
func openVolume(dir string) (*os.File, os.FileMode, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, &os.PathError{Op: "open volume", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Mode(), nil
}

// local validates a subPath and returns it in canonical form.
func local(sub string) (string, error) {
	clean := filepath.Clean(sub)
	if !filepath.IsLocal(sub) || strings.Contains("/"+sub+"/", "/../") {
		return "", fmt.Errorf("subPath %q must be relative and must not contain '..'", sub)
	}
	return clean, nil
}
