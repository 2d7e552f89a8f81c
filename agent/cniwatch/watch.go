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

// watch reports changes in or of a directory: it may appear, disappear and be replaced, and so may its parents. Changes
// by others in distant parents, such as /tmp, cause no events.
type watch struct {
	*inotify.Signal
	dir   string
	in    *inotify.Watcher
	below map[int]string // by watch: the only name in it that matters; "" for all
}

const (
	self = inotify.DeleteSelf | inotify.MoveSelf
	// names is used for the parent of a directory that does not exist or is a link; otherwise the child reports its own
	// removal.
	names = inotify.Names
	files = inotify.CloseWrite | names
	// tries limits how often arm repeats because of changes meanwhile.
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

// openWatch returns a watch without a reader.
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

// arm watches the directory and its existing parents, until two passes find the same.
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

// matters reports whether one of the events matters. If one is about the directory itself or a parent, it arms the
// watch again; an error means that no more watches are available.
func (w *watch) matters(events []inotify.Event) (matters bool, err error) {
	moved := false
	for _, e := range events {
		want, known := w.below[e.Watch]
		switch {
		case e.Moved(), e.Has(inotify.Overflow), known && want != "" && want == e.Name:
			matters, moved = true, true
		case known && want == "" && e.Name != "" && !e.Has(inotify.Create): // a new file is not written yet
			matters = true
		}
	}
	if moved {
		err = w.arm()
	}
	return matters, err
}
