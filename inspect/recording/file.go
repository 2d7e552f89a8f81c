package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// older returns the path of the part before a file.
func older(path string) string { return path + ".1" }

// disk is the part of a file's methods that is needed.
type disk interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Stat() (fs.FileInfo, error)
	Sync() error
}

// file is the part that is being written. It writes complete frames or nothing.
type file struct {
	disk
	size int64
}

// makeFile creates a file that only its owner can read.
func makeFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return lock(f)
}

// reopen opens an existing file, which must be a regular one.
func reopen(path string) (*file, error) {
	// Without O_NONBLOCK a pipe would block. A link may lead anywhere.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, errors.New("it is a symbolic link: must be a regular file")
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s: must be a regular file", path, kindOf(st.Mode()))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return lock(f)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// lock excludes other writers until the file is closed.
func lock(f *os.File) (*file, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s is being written by another process", f.Name())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{disk: f}, nil
}

// put appends all of p. If that fails, for example on a full disk, the file's length is unchanged.
func (f *file) put(p []byte) error {
	_, err := f.WriteAt(p, f.size)
	if err != nil {
		return errors.Join(err, f.Truncate(f.size))
	}
	f.size += int64(len(p))
	return nil
}

// begin writes the beginning of a file.
func (f *file) begin(h *Header) error {
	frame, err := h.frame()
	if err != nil {
		return err
	}
	return f.put(append(appendPrelude(nil), frame...))
}
