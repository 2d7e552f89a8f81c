package fsgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxDepth limits how deep a volume may be nested.
const maxDepth = 1000

// some is how many names of a directory are read at a time.
const some = 256

// walk changes a tree. Containers wrote the volume, and may be writing to it on another node: directories may have any number of entries,
// which are read in parts, and may be replaced by anything. So each file is changed relative to its open directory, and no link is followed.
type walk struct {
	ctx      context.Context //nolint:containedctx // of one change
	group    int
	readOnly bool
	files    *atomic.Int64 // that were visited
	failures Failures
	levels   []*level // from the root to the current directory

	// step, in tests, is called before a file is opened or changed.
	step func(what, name string)
}

// begin makes a directory the root.
func (w *walk) begin(dir *os.File) error {
	l := &level{file: dir}
	w.levels = []*level{l}
	return again(func() error { return unix.Fstat(int(dir.Fd()), &l.stat) })
}

// top changes only the directory itself.
func (w *walk) top(dir *os.File) error {
	err := w.begin(dir)
	if err == nil {
		w.own()
	}
	return err
}

// deep changes what is in the directory, and then the directory itself, so that an interrupted change is repeated.
func (w *walk) deep(dir *os.File) error {
	if err := w.begin(dir); err != nil {
		return err
	}
	return w.content()
}

// content changes the entries of the current directory, and then the directory.
func (w *walk) content() error {
	l := w.levels[len(w.levels)-1]
	for !l.whole {
		names, err := l.file.Readdirnames(some)
		switch {
		case errors.Is(err, unix.ENOENT) && len(w.levels) > 1: // it vanished meanwhile, and has no more names
		case err != nil && !errors.Is(err, io.EOF):
			return w.at("", err)
		}
		l.whole = len(names) < some
		for _, name := range names {
			if err := w.entry(name); err != nil {
				return err
			}
		}
	}
	if err := w.reopen(); err != nil {
		return err
	}
	w.own()
	return nil
}

func (w *walk) entry(name string) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err := w.reopen(); err != nil {
		return err
	}
	fd := w.fd()
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return w.at(name, err)
	case isDir(&st):
		return w.below(name)
	}
	w.note("change", name)
	w.count(name, w.set(&st,
		func(group int) error { return unix.Fchownat(fd, name, -1, group, unix.AT_SYMLINK_NOFOLLOW) },
		func(mode uint32) error { return chmod(fd, name, mode) }))
	return nil
}

// own changes the current directory.
func (w *walk) own() {
	fd := w.fd()
	w.count("", w.set(&w.levels[len(w.levels)-1].stat,
		func(group int) error { return unix.Fchown(fd, -1, group) },
		func(mode uint32) error { return unix.Fchmod(fd, mode) }))
}

// count counts a file that was visited; one that has vanished is no failure.
func (w *walk) count(name string, err error) {
	w.files.Add(1)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		if w.failures.Number++; w.failures.First == nil {
			w.failures.First = w.at(name, err)
		}
	}
}

// at adds the path within the volume of an entry of the current directory to an error.
func (w *walk) at(name string, err error) error {
	var names []string
	for _, l := range w.levels {
		names = append(names, l.name)
	}
	return fmt.Errorf("%s: %w", path.Join(".", path.Join(names...), name), err)
}

func (w *walk) note(what, name string) {
	if w.step != nil {
		w.step(what, name)
	}
}
