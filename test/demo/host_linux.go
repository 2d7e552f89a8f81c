package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// endWithGo makes the end of `go run`, which passes no SIGTERM on, a SIGTERM for us.
func endWithGo() {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
	if err == nil && filepath.Base(exe) == "go" {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0) // where not, there is still Ctrl-C
	}
}

// unmountBelow undoes what is mounted below dir: memory-backed volumes of pods that
// an agent left. The simulated runtime's pods leave them too, and no agent finds them again.
func unmountBelow(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range slices.Backward(mounts) {
		if err := unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}
