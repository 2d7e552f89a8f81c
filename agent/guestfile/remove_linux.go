package guestfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxDepth is how many levels of a tree have an open directory. Deeper directories are moved up.
const maxDepth = 16

// RemoveAll removes path and everything below. The author of the tree may have nested it as deep as there are inodes, so RemoveAll
// has a limited number of directories open at a time; os.RemoveAll has one open on each level. It follows no link and enters no
// mount. It stops when ctx ends. It is no error if path does not exist, or if others remove it, or parts of it, at the same time.
func RemoveAll(ctx context.Context, path string) error {
	parent, err := os.Open(filepath.Dir(path))
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close() //nolint:errcheck // nothing was written through it
	base := filepath.Base(path)
	if err := remove(parent, base); !errors.Is(err, unix.ENOTEMPTY) {
		return at(path, err)
	}
	top, err := enter(parent, base)
	if missing(err) {
		return nil
	}
	if err != nil {
		return at(path, err)
	}
	defer top.Close() //nolint:errcheck // nothing was written through it
	var st unix.Stat_t
	if err := unix.Fstat(int(top.Fd()), &st); err != nil {
		return at(path, err)
	}
	t := tree{ctx: ctx, top: top, dev: st.Dev}
	for {
		before := t.done
		if err = t.empty(top, 0); err == nil || t.done == before || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return at(path, err)
	}
	return at(path, remove(parent, base))
}

func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("remove %s: %w", path, err)
}

// tree is a tree that is being removed.
type tree struct {
	ctx   context.Context //nolint:containedctx // of one call of RemoveAll
	top   *os.File
	dev   uint64
	moved int
	done  int // removed or moved up so far
}

// empty removes the content of a directory, until nothing is left or nothing more can be removed.
func (t *tree) empty(dir *os.File, depth int) error {
	for {
		before := t.done
		last := t.pass(dir, depth)
		if err := t.ctx.Err(); err != nil {
			return context.Cause(t.ctx)
		}
		if t.done == before {
			return last
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// pass goes through a directory once and returns the last error.
func (t *tree) pass(dir *os.File, depth int) (last error) {
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if t.ctx.Err() != nil {
				return nil
			}
			if err := t.one(dir, name, depth); err != nil {
				last = fmt.Errorf("%s: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) || missing(err) { // the kernel does not list a removed directory
			return last
		}
		if err != nil {
			return err
		}
	}
}

func (t *tree) one(dir *os.File, name string, depth int) error {
	err := remove(dir, name)
	if errors.Is(err, unix.ENOTEMPTY) && depth >= maxDepth {
		err = t.raise(dir, name)
		if missing(err) {
			return nil
		}
		if err == nil {
			t.done++
		}
		return err
	}
	if errors.Is(err, unix.ENOTEMPTY) {
		if err = t.below(dir, name, depth); err == nil {
			err = remove(dir, name)
		}
	}
	if err == nil {
		t.done++
	}
	return err
}

// below empties a directory.
func (t *tree) below(dir *os.File, name string, depth int) error {
	sub, err := enter(dir, name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close() //nolint:errcheck // nothing was written through it
	var st unix.Stat_t
	if err := unix.Fstat(int(sub.Fd()), &st); err != nil {
		return err
	}
	if st.Dev != t.dev {
		return errors.New("something is mounted there")
	}
	return t.empty(sub, depth+1)
}

// raise moves a directory to the top of the tree.
func (t *tree) raise(dir *os.File, name string) error {
	for {
		t.moved++
		err := unix.Renameat2(int(dir.Fd()), name, int(t.top.Fd()), fmt.Sprintf(".removing-%d", t.moved), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}

// remove removes a file or an empty directory.
func remove(dir *os.File, name string) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		if rmdir := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); !errors.Is(rmdir, unix.ENOTDIR) {
			err = rmdir
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// enter opens a directory.
func enter(dir *os.File, name string) (*os.File, error) {
	fd, err := eintr(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
