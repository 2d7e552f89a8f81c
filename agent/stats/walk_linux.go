package stats

import (
	"context"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxDepth limits open directories. Deeper ones are counted with one of them open at a time.
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
	w := walker{major: st.Dev_major, minor: st.Dev_minor, levels: maxLevels}
	w.count(&st)
	w.below(ctx, top, 1)
	return held{bytes: w.bytes, inodes: uint64(math.Round(w.inodes))}
}

type walker struct {
	major, minor uint32
	bytes        uint64
	inodes       float64
	// Below maxDepth: how many levels there may be, and how many names of directories wait to be entered.
	levels, pending int
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
	if !w.one(dir, name) || ctx.Err() != nil {
		return
	}
	switch sub := enter(dir, name); {
	case sub == nil:
	case depth < maxDepth:
		w.below(ctx, sub, depth+1)
	default:
		w.deep(ctx, sub)
	}
}

// one counts an entry, and reports whether it is a directory to enter.
func (w *walker) one(dir *os.File, name string) bool {
	var st unix.Statx_t
	if statx(int(dir.Fd()), name, &st) != nil || !w.own(&st) {
		return false
	}
	w.count(&st)
	return st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// own reports whether a file is on the walk's file system.
func (w *walker) own(st *unix.Statx_t) bool {
	return st.Dev_major == w.major && st.Dev_minor == w.minor
}

// enter opens a directory; nil if that is no longer possible.
func enter(dir *os.File, name string) *os.File {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
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
