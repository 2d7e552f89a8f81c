//go:build !linux

package guestfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Containers do not write on these platforms: the runtime is simulated. So it is enough to check and then open.

func openRead(path string) (*os.File, error)  { return openPath(path, os.O_RDONLY) }
func openWrite(path string) (*os.File, error) { return openPath(path, os.O_RDWR) }

func openPath(path string, flags int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KindError{Path: path, Mode: info.Mode()}
	}
	return os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

func openIn(root, rel string) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing was written through it
	info, err := r.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KindError{Path: rel, Mode: info.Mode()}
	}
	return r.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
}
