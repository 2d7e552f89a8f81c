package memdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// MountedError means that a directory was not removed because of a mount.
type MountedError struct {
	Path   string
	FSType string
}

// Error implements error.
func (e *MountedError) Error() string {
	return fmt.Sprintf("%s has a mount that is not the volume's own (%s): unmount it first", e.Path, e.FSType)
}

// sight is what a look into a directory tells of mounts.
type sight int

const (
	unsure sight = iota // the kernel's table of mounts knows
	free                // nothing is mounted on it or below it
	own                 // a tmpfs or hugetlbfs is on top of what is mounted on it, and nothing is mounted below that
)

// Remove unmounts the tmpfs or hugetlbfs on dir, if there is one, and removes dir and its content. If anything else is mounted on
// it or below it, it removes no file and returns a [*MountedError]. It is no error if dir does not exist.
func (m *Maker) Remove(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if look(dir) == own && !m.plain {
		if err := m.mounter.Unmount(dir); err != nil {
			return err
		}
	}
	mounts, err := Within(dir)
	if err != nil {
		return err
	}
	for _, mnt := range mounts {
		ours := !m.plain && (mnt.FSType == tmpfs || mnt.FSType == hugetlbfs)
		if !ours || filepath.Base(mnt.Mountpoint) != filepath.Base(dir) {
			return &MountedError{Path: mnt.Mountpoint, FSType: mnt.FSType}
		}
	}
	for range mounts {
		if err := m.mounter.Unmount(dir); err != nil {
			return err
		}
	}
	return guestfile.RemoveAll(ctx, dir) // a container wrote the content
}

// Within lists the mounts on dir and below it. The path of dir may contain links.
func Within(dir string) ([]*mountinfo.Info, error) {
	if look(dir) == free {
		return nil, nil
	}
	return table(dir)
}

// table is Within by the kernel's table of mounts.
func table(dir string) ([]*mountinfo.Info, error) {
	// The kernel lists paths without links; dir itself must not be one.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(filepath.Join(parent, filepath.Base(dir))))
	if err != nil {
		return nil, fmt.Errorf("look for mounts in %s: %w", dir, err)
	}
	return mounts, nil
}
