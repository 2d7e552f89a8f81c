package stats

import (
	"context"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxDepth limits open directories. Deeper ones are not counted.
	maxDepth = 256
	// namesAtOnce limits memory: a directory may have millions of names.
	namesAtOnce = 256
)

// walk counts the files below dir on its own file system, until ctx ends. Containers change it meanwhile: walk follows
// no link, opens no file, and ignores what disappears. A file with several names counts once: each name counts its
// part.
func walk(ctx context.Context, dir string) held {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return held{}
	}
	top := os.NewFile(uintptr(fd), dir)
	var st unix.Statx_t
	if err := statx(fd, "", &st); err != nil {
		_ = top.Close() // nothing was written
		return held{}
	}
	w := walker{major: st.Dev_major, minor: st.Dev_minor}
	w.count(&st)
	w.below(ctx, top, 1)
	return held{bytes: w.bytes, inodes: uint64(math.Round(w.inodes))}
}

type walker struct {
	major, minor uint32
	bytes        uint64
	inodes       float64
}

// below counts the content of a directory, and closes it.
func (w *walker) below(ctx context.Context, dir *os.File, depth int) {
	defer func() { _ = dir.Close() }() // nothing was written
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			w.entry(ctx, dir, name, depth)
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

func (w *walker) entry(ctx context.Context, dir *os.File, name string, depth int) {
	fd := int(dir.Fd())
	var st unix.Statx_t
	if statx(fd, name, &st) != nil || st.Dev_major != w.major || st.Dev_minor != w.minor {
		return
	}
	w.count(&st)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || depth >= maxDepth || ctx.Err() != nil {
		return
	}
	if sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		w.below(ctx, os.NewFile(uintptr(sub), name), depth+1)
	}
}

func (w *walker) count(st *unix.Statx_t) {
	names := uint64(1)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		names = max(1, uint64(st.Nlink))
	}
	w.bytes += st.Blocks * 512 / names
	w.inodes += 1 / float64(names)
}

// statx queries no server and mounts nothing: name may be the mount point of a file system that hangs.
func statx(fd int, name string, st *unix.Statx_t) error {
	return unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC|unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, st)
}
