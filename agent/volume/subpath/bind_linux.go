package subpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// prepare mounts sub of the volume at name in dir. create says that the error is about a directory that had to be
// created.
func prepare(volumePath, sub, dir, name string) (at string, create bool, err error) {
	if sub, err = local(sub); err != nil {
		return "", false, err
	}
	base, mode, err := openVolume(volumePath)
	if err != nil {
		return "", false, err
	}
	defer base.Close() //nolint:errcheck // nothing was written
	src, create, err := openOrMake(base, volumePath, sub, mode)
	if err != nil {
		return "", create, err
	}
	defer src.Close() //nolint:errcheck // nothing was written
	at = filepath.Join(dir, name)
	return at, false, bind(src, at)
}

// bind mounts the open file on at, if it is not already mounted there.
func bind(src *os.File, at string) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if have, err := os.Lstat(at); err == nil && os.SameFile(have, info) {
		return nil
	}
	if err := unmountAll(at, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := makeTarget(at, info.IsDir()); err != nil {
		return err
	}
	from := fmt.Sprintf("/proc/self/fd/%d", src.Fd())
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		_ = os.Remove(at)
		return fmt.Errorf("bind %s on %s: %w", src.Name(), at, err)
	}
	return nil
}

// makeTarget creates the mount point: a directory or a file, like the source.
func makeTarget(at string, dir bool) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	if have, err := os.Lstat(at); err == nil && have.IsDir() != dir {
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	if dir {
		if err := os.Mkdir(at, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	return f.Close()
}

// unmountAll unmounts everything on at. If nothing is mounted, there is no error.
func unmountAll(at string, flags int) error {
	for {
		mounted, err := mountinfo.Mounted(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		// A dead file system cannot be inspected, only unmounted.
		case err == nil && !mounted:
			return nil
		}
		if gone := unix.Unmount(at, flags|unix.UMOUNT_NOFOLLOW); gone != nil {
			return fmt.Errorf("unmount %s: %w", at, errors.Join(gone, err))
		}
	}
}
