//go:build !linux

package fsgroup

import "golang.org/x/sys/unix"

// chmod sets the mode of a file in a directory, but of no link.
func chmod(dir int, name string, mode uint32) error {
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}
