package memdir

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// lookLimit is how many files look opens: about as many as cost what the kernel's table of mounts costs on a node with a few pods.
	lookLimit = 256
	// lookDepth is how many levels of directories look has open.
	lookDepth = 16
)

// look finds out what is mounted on dir and below it without the kernel's table of mounts, which is read line by line and has some lines for each
// container of the node. It opens the files instead, with openat2 (since Linux 5.6), which refuses to enter a mount and therefore waits for none.
func look(dir string) sight {
	parent, err := unix.Open(filepath.Dir(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unsure
	}
	defer unix.Close(parent) //nolint:errcheck // nothing was written through it
	l := looker{left: lookLimit}
	top, err := within(parent, filepath.Base(dir), unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case errors.Is(err, unix.ENOENT):
		return free
	case errors.Is(err, unix.EXDEV):
		return l.mounted(parent, filepath.Base(dir))
	case err == nil && l.empty(top, 0):
		return free
	}
	return unsure
}

// looker counts the files that were opened.
type looker struct{ left int }

// mounted is look for a directory with a mount on it.
func (l *looker) mounted(parent int, name string) sight {
	top, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return unsure
	}
	var st unix.Statfs_t
	err = unix.Fstatfs(top, &st)
	if below := l.empty(top, 0); err == nil && below && (st.Type == unix.TMPFS_MAGIC || st.Type == unix.HUGETLBFS_MAGIC) {
		return own
	}
	return unsure
}

// empty reports whether there is certainly no mount below the directory fd, which it closes.
func (l *looker) empty(fd, depth int) bool {
	dir := os.NewFile(uintptr(fd), "directory")
	defer dir.Close() //nolint:errcheck // nothing was written through it
	if depth == lookDepth {
		return false
	}
	for {
		entries, err := dir.ReadDir(64)
		for _, e := range entries {
			if l.left--; l.left < 0 || !l.one(fd, e, depth) {
				return false
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func (l *looker) one(dir int, e os.DirEntry, depth int) bool {
	if e.IsDir() {
		sub, err := within(dir, e.Name(), unix.O_RDONLY|unix.O_DIRECTORY)
		return err == nil && l.empty(sub, depth+1)
	}
	fd, err := within(dir, e.Name(), unix.O_PATH)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// within opens a file of a directory. The error is EXDEV if something is mounted on it.
func within(dir int, name string, flags uint64) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{Flags: flags | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV})
}
