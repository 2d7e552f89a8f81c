package fsgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// set sets the group and the mode of a file. Both are tried. An agent that does not run as root cannot change groups.
//
// Upstream: pkg/volume/volume_linux.go, changeFilePermission.
func (w *walk) set(st *unix.Stat_t, chown func(group int) error, chmod func(mode uint32) error) error {
	err := again(func() error { return chown(w.group) })
	if err != nil && errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("set group %d: %w", w.group, err)
	}
	if kind(st) == unix.S_IFLNK {
		return err
	}
	mode := uint32(st.Mode)&0o7777 | w.bits(isDir(st))
	if more := again(func() error { return chmod(mode) }); more != nil && err == nil {
		err = fmt.Errorf("set mode %o: %w", mode, more)
	}
	return err
}

// bits are the mode bits that the group needs.
func (w *walk) bits(dir bool) uint32 {
	bits := uint32(0o660)
	if w.readOnly {
		bits = 0o440
	}
	if dir {
		bits |= 0o2110 // with setgid
	}
	return bits
}

func kind(st *unix.Stat_t) uint32 { return uint32(st.Mode) & unix.S_IFMT }

func isDir(st *unix.Stat_t) bool { return kind(st) == unix.S_IFDIR }

// again repeats what a signal has interrupted.
func again(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
