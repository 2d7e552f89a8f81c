package memdir

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Kernel mounts by system calls. mount(8) and umount(8) would do the same, but most pods have a token in memory, and two processes
// cost a tenth of the CPU time that the agent needs for a pod's life.
type Kernel struct{}

// Mount implements Mounter. See mount(2).
func (Kernel) Mount(target, fstype string, options []string) error {
	data := strings.Join(options, ",")
	if err := unix.Mount(fstype, target, fstype, 0, data); err != nil {
		return &os.PathError{Op: fmt.Sprintf("mount %s (%s)", fstype, data), Path: target, Err: err}
	}
	return nil
}

// Remount implements Mounter. See mount(2).
func (Kernel) Remount(target, fstype string, options []string) error {
	data := strings.Join(options, ",")
	if err := unix.Mount(fstype, target, fstype, unix.MS_REMOUNT, data); err != nil {
		return &os.PathError{Op: fmt.Sprintf("remount %s (%s)", fstype, data), Path: target, Err: err}
	}
	return nil
}

// Unmount implements Mounter. See umount(2).
func (Kernel) Unmount(target string) error {
	if err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW); err != nil {
		return &os.PathError{Op: "unmount", Path: target, Err: err}
	}
	return nil
}
