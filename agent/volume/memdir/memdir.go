package memdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/moby/sys/mountinfo"
)

const (
	tmpfs     = "tmpfs"
	hugetlbfs = "hugetlbfs"
)

// Mounter mounts file systems that have no source; see [Kernel].
type Mounter interface {
	// Mount mounts a file system of a type on a directory. options are the file system's own, such as size=4096.
	Mount(target, fstype string, options []string) error
	// Remount changes the options of a mounted file system.
	Remount(target, fstype string, options []string) error
	// Unmount removes the topmost mount on a directory.
	Unmount(target string) error
}

// UnsupportedError says that this process cannot mount anything.
type UnsupportedError struct {
	// Why says what is missing.
	Why string
}

// Error implements error.
func (e *UnsupportedError) Error() string { return "memory-backed volumes cannot be mounted: " + e.Why }

// Maker creates and removes directories in memory. Safe for concurrent use on different directories.
type Maker struct {
	mounter Mounter
	// plain creates directories on disk and mounts nothing.
	plain bool
	// noNoswap is set when the kernel has rejected the noswap option.
	noNoswap atomic.Bool
}

// New returns a Maker.
func New(mounter Mounter) (*Maker, error) {
	if mounter == nil {
		return nil, errors.New("memdir: mounter is missing")
	}
	return &Maker{mounter: mounter}, nil
}

// Plain returns a Maker that creates directories on disk instead of mounting memory: with a simulated runtime, no
// container sees the difference, and no mount remains.
func Plain() *Maker { return &Maker{plain: true} }

// Tmpfs mounts a tmpfs on dir, which is created if necessary. It is never swapped out if the kernel supports this (6.4). size is in
// bytes; 0 means the kernel's default, half of the memory. An existing mount is not changed. If this process cannot mount, the
// error is an [*UnsupportedError].
//
// Upstream: pkg/volume/emptydir/empty_dir.go, setupTmpfs.
func (m *Maker) Tmpfs(dir string, size int64) error {
	var options []string
	if size > 0 {
		options = append(options, fmt.Sprintf("size=%d", size))
	}
	if m.noNoswap.Load() {
		return m.mount(dir, tmpfs, options)
	}
	err := m.mount(dir, tmpfs, append(options, noswap))
	var unsupported *UnsupportedError
	if err == nil || errors.As(err, &unsupported) {
		return err
	}
	if plain := m.mount(dir, tmpfs, options); plain != nil {
		return plain
	}
	m.noNoswap.Store(true)
	return nil
}

// Resize changes the size of a mounted tmpfs, in bytes. It is an error if dir is not mounted, or has more content than that.
//
// Upstream: pkg/volume/emptydir/empty_dir_linux.go, ResizeEphemeralVolume.
func (m *Maker) Resize(dir string, size int64) error {
	if m.plain {
		return nil
	}
	mounted, err := m.Mounted(dir)
	if err != nil {
		return err
	}
	if !mounted {
		return fmt.Errorf("%s is not mounted yet", dir)
	}
	if err := expect(dir, tmpfs); err != nil {
		return err
	}
	if err := canMount(); err != nil {
		return err
	}
	return m.mounter.Remount(dir, tmpfs, []string{fmt.Sprintf("size=%d", size)})
}

// HugePages is Tmpfs with huge pages of a size in bytes.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, setupHugepages.
func (m *Maker) HugePages(dir string, pageSize int64) error {
	return m.mount(dir, hugetlbfs, []string{fmt.Sprintf("pagesize=%d", pageSize)})
}

func (m *Maker) mount(dir, fstype string, options []string) error {
	if err := Make(dir); err != nil {
		return err
	}
	if m.plain {
		return nil
	}
	mounted, err := m.Mounted(dir)
	if err != nil {
		return err
	}
	if mounted {
		return expect(dir, fstype)
	}
	if err := canMount(); err != nil {
		return err
	}
	return m.mounter.Mount(dir, fstype, options)
}

// expect checks the type of the mount on dir.
func expect(dir, fstype string) error {
	mounts, err := Within(dir)
	if err != nil {
		return err
	}
	for _, mnt := range mounts {
		if filepath.Base(mnt.Mountpoint) == filepath.Base(dir) && mnt.FSType == fstype {
			return nil
		}
	}
	return fmt.Errorf("%s already has something other than %s mounted on it", dir, fstype)
}

// Mounted reports whether something is mounted on dir itself; false if dir does not exist.
func (m *Maker) Mounted(dir string) (bool, error) {
	mounted, err := mountinfo.Mounted(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("is %s a mount point: %w", dir, err)
	}
	return mounted && err == nil, nil
}

// Make creates a directory for a volume, with mode 0777, in parents that only the agent writes. An existing directory
// is not changed; any other file of that name, including a link, is an error.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		return os.Chmod(dir, 0o777) // the umask may have removed bits
	}
	info, statErr := os.Lstat(dir)
	if statErr != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is in the way: it is not a directory (%s)", dir, info.Mode().Type())
	}
	return nil
}
