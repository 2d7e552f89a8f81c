package main

import "golang.org/x/sys/unix"

func mountTmpfs(dir, options string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, options) }

// unmount also detaches what pods left mounted below.
func unmount(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// makeReadOnly puts a read-only view of a directory over it: the kernel makes no file system read-only that has a file open for writing.
func makeReadOnly(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}
