package fsgroup

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// chmod sets the mode of a file in a directory, but of no link. Kernels before 6.6 have no system call for that, and some sandboxes refuse it.
func chmod(dir int, name string, mode uint32) error {
	err := unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		return chmodPath(dir, name, mode)
	}
	return err
}

// chmodPath is chmod through the path of the file in /proc, which no link can replace.
func chmodPath(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is written through it
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}
