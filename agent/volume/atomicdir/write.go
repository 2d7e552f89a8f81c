package atomicdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Current is the link in a directory that was written.
const Current = "..data"

const (
	current = Current
	next    = "..data_tmp"
)

// File is the desired content of a file.
type File struct {
	Data []byte
	Mode fs.FileMode
	// User owns the file; nil means the agent's user.
	User *int64
}

// Writer writes into one directory. Only one write may run at a time.
type Writer struct {
	// Dir must exist.
	Dir string
	// Own sets owners on the new files, and on the directory itself, before anybody can see them; sub is their path
	// below root. It may be nil.
	Own func(root *os.Root, sub string) error

	// step, in tests, is called before each step and may interrupt the write.
	step func(what string) error
}

// Write makes the directory show exactly these files, by path. If the data is unchanged, it only repairs. Paths are
// relative, have no '..' element and do not begin with '..'.
func (w *Writer) Write(files map[string]File) error {
	files, err := clean(files)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // files written through it were closed and checked
	if !same(root, files) {
		if err := w.replace(root, files); err != nil {
			return fmt.Errorf("write %s: %w", w.Dir, err)
		}
	}
	if err := w.tidy(root, files); err != nil {
		return fmt.Errorf("tidy %s: %w", w.Dir, err)
	}
	return nil
}

// replace writes a new directory next to the current one and swaps the link.
func (w *Writer) replace(root *os.Root, files map[string]File) error {
	if err := w.at("make directory"); err != nil {
		return err
	}
	dir, err := w.newDir(root)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.at("write file"); err != nil {
			return err
		}
		if err := writeFile(root, path.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	if err := w.at("own"); err != nil {
		return err
	}
	if w.Own != nil {
		if err := w.Own(root, dir); err != nil {
			return err
		}
	}
	if err := w.at("make link"); err != nil {
		return err
	}
	if err := root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Symlink(dir, next); err != nil {
		return err
	}
	if err := w.at("swap"); err != nil {
		return err
	}
	return root.Rename(next, current)
}

// newDir creates a directory whose name is the current time. Only the agent writes there, so a name can only exist from
// an earlier write.
func (w *Writer) newDir(root *os.Root) (string, error) {
	stamp := time.Now().UTC().Format("..2006_01_02_15_04_05.")
	for n := time.Now().Nanosecond(); ; n++ {
		name := stamp + strconv.Itoa(n)
		err := root.Mkdir(name, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return name, root.Chmod(name, 0o755) // regardless of the umask
	}
}

func writeFile(root *os.Root, name string, f File) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.WriteFile(name, f.Data, f.Mode.Perm()); err != nil {
		return err
	}
	if err := root.Chmod(name, f.Mode.Perm()); err != nil { // regardless of the umask
		return err
	}
	if f.User == nil {
		return nil
	}
	// An agent that does not run as root cannot change the owner of files.
	if err := root.Lchown(name, int(*f.User), -1); err != nil && (!errors.Is(err, fs.ErrPermission) || os.Geteuid() == 0) {
		return fmt.Errorf("give %s to user %d: %w", name, *f.User, err)
	}
	return nil
}

// errDropped says that the current directory has a file that is no longer wanted.
var errDropped = errors.New("the file is not wanted")

// same reports whether the current directory has exactly these files with this data. Modes are not compared: the
// fsGroup changes them.
func same(root *os.Root, files map[string]File) bool {
	dir, err := root.Readlink(current)
	if err != nil || !stamped(dir) {
		return false
	}
	seen := 0
	err = fs.WalkDir(root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		want, ok := files[strings.TrimPrefix(name, dir+"/")]
		if !ok {
			return errDropped
		}
		have, err := root.ReadFile(name)
		if err == nil && bytes.Equal(have, want.Data) {
			seen++
		}
		return err
	})
	return err == nil && seen == len(files)
}

// clean validates the paths and returns them in canonical form.
//
// Upstream: pkg/volume/util/atomic_writer.go, validatePath.
func clean(files map[string]File) (map[string]File, error) {
	out := make(map[string]File, len(files))
	for name, f := range files {
		switch elements := strings.Split(name, "/"); {
		case name == "" || path.Clean(name) == ".":
			return nil, fmt.Errorf("path %q names no file", name)
		case path.IsAbs(name) || !filepath.IsLocal(name) || slices.Contains(elements, ".."):
			return nil, fmt.Errorf("path %q must be relative and must not contain '..'", name)
		case strings.HasPrefix(path.Clean(name), ".."):
			return nil, fmt.Errorf("path %q must not begin with '..'", name)
		}
		out[path.Clean(name)] = f
	}
	return out, nil
}

func (w *Writer) at(what string) error {
	if w.step == nil {
		return nil
	}
	return w.step(what)
}
