package cniwatch

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
)

// watch tells that something changed in a directory or with it: it may come, go and be exchanged, and so may those above it. What
// others do in directories far above, as /tmp, wakes nobody.
type watch struct {
	*inotify.Signal
	dir   string
	in    *inotify.Watcher
	below map[int]string // by watch: the one name in it that matters; "" for all
}

const (
	self = inotify.DeleteSelf | inotify.MoveSelf
	// names is for a directory above one that is not there, or is a link: else what is below tells of itself when it goes.
	names = inotify.Names
	files = inotify.CloseWrite | names
	// tries bounds how often what changes meanwhile is looked at again.
	tries = 16
)

func newWatch(dir string) (*watch, error) {
	w, err := openWatch(dir)
	if err != nil {
		return nil, err
	}
	w.Signal = inotify.NewSignal(w.in, 16<<10, w.matters)
	return w, nil
}

// openWatch returns a watch that nobody reads yet.
func openWatch(dir string) (*watch, error) {
	in, err := inotify.New()
	if err != nil {
		return nil, err
	}
	w := &watch{dir: dir, in: in}
	if err := w.arm(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return w, nil
}

// arm watches the directory and all above it, as far as they are there, until that is so at two looks.
func (w *watch) arm() error {
	for range tries {
		had := w.below
		if err := w.armOnce(); err != nil {
			return err
		}
		if maps.Equal(w.below, had) {
			break
		}
	}
	return nil
}

func (w *watch) armOnce() error {
	seen := map[int]string{}
	name, ops := "", files
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		wd, err := w.in.Add(dir, ops|self)
		switch {
		case err == nil:
			seen[wd] = name
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return err
		}
		if dir == filepath.Dir(dir) {
			break
		}
		name, ops = filepath.Base(dir), 0
		if info, bad := os.Lstat(dir); err != nil || bad != nil || !info.IsDir() {
			ops = names
		}
	}
	for wd := range w.below {
		if _, ok := seen[wd]; !ok {
			w.in.Remove(wd)
		}
	}
	w.below = seen
	return nil
}

// matters reports whether one of the events does. If one is about the directory itself or those above it, they are watched again; an
// error is that there is no more room for watches.
func (w *watch) matters(events []inotify.Event) (matters bool, err error) {
	moved := false
	for _, e := range events {
		want, known := w.below[e.Watch]
		switch {
		case e.Moved(), e.Has(inotify.Overflow), known && want != "" && want == e.Name:
			matters, moved = true, true
		case known && want == "" && e.Name != "" && !e.Has(inotify.Create): // a file that was made is not written yet
			matters = true
		}
	}
	if moved {
		err = w.arm()
	}
	return matters, err
}
