package podsource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
)

// watcher reports changes of manifests. A manifest is read when its writer has closed it: neither earlier (half a
// manifest may be valid YAML of another pod) nor later.
type watcher struct {
	in     *inotify.Watcher
	batchC chan []change
	done   chan struct{}
	// wd is the current watch and dir its directory.
	wd  int
	dir string
}

const (
	watchOps = inotify.Names | inotify.CloseWrite | inotify.Attrib | inotify.DeleteSelf | inotify.MoveSelf
	// pairWait is how long the second event of a rename may follow the first.
	pairWait = 2 * time.Millisecond
)

func newWatcher() (*watcher, error) {
	in, err := inotify.New()
	if err != nil {
		return nil, err
	}
	w := &watcher{in: in, wd: -1, batchC: make(chan []change, 16), done: make(chan struct{})}
	go w.read()
	return w, nil
}

// close ends the reader and waits for it.
func (w *watcher) close() {
	_ = w.in.Close()
	for {
		select {
		case <-w.batchC:
		case <-w.done:
			return
		}
	}
}

// batches returns the stream of events; a nil watcher has none.
func (w *watcher) batches() <-chan []change {
	if w == nil {
		return nil
	}
	return w.batchC
}

// arm watches what shows changes of path: the directory itself, the directory of the file, or, if path does not exist,
// the nearest existing directory above it. It is cheap to call again, and then adapts to changes of path.
func (w *watcher) arm(path string) error {
	for range 16 {
		dir := watchDir(path)
		wd, err := w.in.Add(dir, watchOps)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // it disappeared just now
		}
		if err != nil {
			return err
		}
		if wd != w.wd && w.wd >= 0 {
			w.in.Remove(w.wd)
		}
		w.wd, w.dir = wd, dir
		if watchDir(path) == dir {
			return nil
		}
	}
	return fmt.Errorf("inotify watch for %s: directories above it keep changing", path)
}

func watchDir(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return path
	}
	for {
		path = filepath.Dir(path)
		if st, err := os.Stat(path); (err == nil && st.IsDir()) || path == filepath.Dir(path) {
			return path
		}
	}
}

// interpret returns what a batch means for path: the changed files, and whether everything may have changed.
func (w *watcher) interpret(path string, batch []change) (files []change, all bool) {
	for _, c := range batch {
		switch {
		case c.wd != w.wd && c.wd >= 0:
			// From an earlier watch.
		case c.kind == everything, strings.HasPrefix(c.name, ".."), w.dir != path && w.dir != filepath.Dir(path):
			// Kubernetes' atomic writers swap a symlink named ..data.
			all = true
		case w.dir == path:
			if !hidden(c.name) {
				files = append(files, change{kind: c.kind, name: filepath.Join(path, c.name)})
			}
		case c.name == filepath.Base(path):
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				all = true
			}
			files = append(files, change{kind: c.kind, name: path})
		}
	}
	return files, all
}

// read delivers events until the watcher is closed.
func (w *watcher) read() {
	defer close(w.done)
	buf := make([]byte, 64<<10)
	for {
		events, err := w.in.Read(buf)
		if err != nil {
			return
		}
		batch, lone := changesOf(events)
		if lone {
			// A rename has two events, and only the first has arrived.
			if more, err := w.in.ReadWithin(buf, pairWait); err == nil {
				rest, _ := changesOf(more)
				batch = append(batch, rest...)
			}
		}
		markBackups(batch)
		w.batchC <- batch
	}
}

// changesOf converts events to changes of manifests. Lone is true if the last is the first event of a rename.
func changesOf(events []inotify.Event) (batch []change, lone bool) {
	for _, e := range events {
		c := change{wd: e.Watch, name: e.Name, cookie: e.Cookie}
		lone = false
		switch {
		case e.Has(inotify.Overflow):
			c.wd, c.kind = -1, everything
		case e.Moved():
			c.kind = everything
		case e.Has(inotify.MovedFrom):
			c.kind, lone = gone, true
		case e.Has(inotify.Delete):
			c.kind = gone
		case e.Has(inotify.CloseWrite | inotify.MovedTo):
			c.kind = written
		case e.Has(inotify.Create):
			c.kind = created
		case e.Has(inotify.Attrib):
			c.kind = attributes
		default:
			continue
		}
		batch = append(batch, c)
	}
	return batch, lone
}
