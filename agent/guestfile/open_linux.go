package guestfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func openRead(path string) (*os.File, error)  { return openPath(path, unix.O_RDONLY) }
func openWrite(path string) (*os.File, error) { return openPath(path, unix.O_RDWR) }

func openPath(path string, flags int) (*os.File, error) {
	place, err := eintr(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return reopen(place, path, flags)
}

// openIn lets the kernel resolve rel beneath root, so that a link that is replaced meanwhile does not leave root
// either.
func openIn(root, rel string) (*os.File, error) {
	base, err := eintr(func() (int, error) { return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(base) //nolint:errcheck // nothing was written
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	var place int
	for range 64 { // the kernel gives up if something was renamed meanwhile
		place, err = eintr(func() (int, error) { return unix.Openat2(base, rel, &how) })
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	if errors.Is(err, unix.EXDEV) {
		return nil, &OutsideError{Root: root, Path: rel}
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	return reopen(place, rel, unix.O_RDONLY)
}

// reopen opens the file of the O_PATH descriptor place, if it is a regular file, and closes place. It cannot become
// another file in between.
func reopen(place int, path string, flags int) (*os.File, error) {
	defer unix.Close(place) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(place, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &KindError{Path: path, Mode: modeOf(st.Mode)}
	}
	fd, err := eintr(func() (int, error) {
		return unix.Open(fmt.Sprintf("/proc/self/fd/%d", place), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.EAGAIN) {
		return nil, &LeasedError{Path: path}
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func modeOf(m uint32) os.FileMode {
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		return os.ModeDir
	case unix.S_IFLNK:
		return os.ModeSymlink
	case unix.S_IFIFO:
		return os.ModeNamedPipe
	case unix.S_IFSOCK:
		return os.ModeSocket
	case unix.S_IFCHR:
		return os.ModeDevice | os.ModeCharDevice
	case unix.S_IFBLK:
		return os.ModeDevice
	}
	return os.ModeIrregular
}

// eintr repeats an interrupted call.
func eintr(open func() (int, error)) (fd int, err error) {
	for {
		if fd, err = open(); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
