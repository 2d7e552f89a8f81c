package fsgroup

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxOpen limits how many directories of a walk are open, besides its root and those with more entries than were read.
const maxOpen = 32

// level is a directory on the way to the current file.
type level struct {
	name string
	file *os.File // nil if it was closed, because others are below
	stat unix.Stat_t
	// whole says that all names were read.
	whole bool
}

// errReplaced says that a directory is no longer where it was.
var errReplaced = errors.New("directory was replaced")

// fd returns the current directory, which is open.
func (w *walk) fd() int { return int(w.levels[len(w.levels)-1].file.Fd()) }

// below changes a directory in the current one. If it vanishes or is replaced meanwhile, whoever does that decides its group.
func (w *walk) below(name string) error {
	if len(w.levels) > maxDepth {
		return fmt.Errorf("directories are nested deeper than %d", maxDepth)
	}
	w.note("enter", name)
	l, err := enter(w.fd(), name)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return w.at(name, err)
	}
	w.push(l)
	err = w.content()
	w.pop()
	if errors.Is(err, errReplaced) {
		return nil
	}
	return err
}

// push makes a directory the current one, and closes one that is far above.
func (w *walk) push(l *level) {
	w.levels = append(w.levels, l)
	if far := len(w.levels) - 1 - maxOpen; far > 0 && w.levels[far].whole {
		w.levels[far].close()
	}
}

func (w *walk) pop() {
	last := len(w.levels) - 1
	w.levels[last].close()
	w.levels = w.levels[:last]
}

func (l *level) close() {
	if l.file != nil {
		_ = l.file.Close() // nothing was written through it
		l.file = nil
	}
}

// reopen opens the current directory again if it was closed. Something else may be in its place now, which is errReplaced.
func (w *walk) reopen() error {
	last := len(w.levels) - 1
	from := last
	for w.levels[from].file == nil {
		from-- // the root is always open
	}
	at := w.levels[from]
	for i := from + 1; i <= last; i++ {
		next, err := enter(int(at.file.Fd()), w.levels[i].name)
		if i-1 > from {
			at.close()
		}
		if isGone(err) {
			return errReplaced
		}
		if err != nil {
			return w.at("", err)
		}
		at = next
	}
	if from == last {
		return nil
	}
	if l := w.levels[last]; at.stat.Dev == l.stat.Dev && at.stat.Ino == l.stat.Ino {
		l.file = at.file
		return nil
	}
	at.close()
	return errReplaced
}

// enter opens a directory, and no link.
func enter(dir int, name string) (*level, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &level{name: name, file: os.NewFile(uintptr(fd), name)}
	if err := again(func() error { return unix.Fstat(fd, &l.stat) }); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// isGone reports whether a directory could not be opened because it vanished or is something else now.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
