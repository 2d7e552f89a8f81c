package atomicdir

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// tidy corrects the visible links, and removes what is no longer in use, from this write or an interrupted one.
func (w *Writer) tidy(root *os.Root, files map[string]File) error {
	want := map[string]bool{}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		want[top] = true
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := w.show(root, name); err != nil {
			return err
		}
	}
	dir, err := root.Readlink(current)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if want[e.Name()] || e.Name() == current || e.Name() == dir || !w.mine(root, e) {
			continue
		}
		if err := w.at("remove"); err != nil {
			return err
		}
		if err := root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// show links a visible name to the data. If there is a directory of that name, it is the mount point of another volume,
// and hides the data.
func (w *Writer) show(root *os.Root, name string) error {
	target := path.Join(current, name)
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if have, err := root.Readlink(name); err == nil && have == target {
		return nil
	}
	if err := w.at("show"); err != nil {
		return err
	}
	if err == nil {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	return root.Symlink(target, name)
}

// mine reports whether a Writer created the entry. Mount points of volumes within this one are not.
func (w *Writer) mine(root *os.Root, e fs.DirEntry) bool {
	if e.IsDir() {
		return stamped(e.Name())
	}
	target, err := root.Readlink(e.Name())
	return err == nil && (e.Name() == next || target == path.Join(current, e.Name()))
}

// stamped reports whether a name is one that newDir creates.
func stamped(name string) bool {
	return strings.HasPrefix(name, "..2") && !strings.Contains(name, "/")
}
