package pluginwatch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// scanned is what the registry has.
type scanned struct {
	sockets map[string]identity
	// dirs are the directories to watch.
	dirs []string
	// linked says that there are symbolic links. No watch sees a change of their targets.
	linked bool
}

// scan lists the sockets in and below dir, and the symbolic links to sockets. It omits hidden files and those that disappear meanwhile, and
// does not follow links to directories.
//
// Upstream: pkg/kubelet/pluginmanager/pluginwatcher/plugin_watcher.go, traversePluginDir.
func scan(dir string) scanned {
	out := scanned{sockets: map[string]identity{}}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // it went away, or is not ours to read: a later event tells
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			out.dirs = append(out.dirs, path)
		case d.Type()&(fs.ModeSocket|fs.ModeSymlink) != 0:
			out.linked = out.linked || d.Type()&fs.ModeSymlink != 0
			if id, ok := identify(path, d); ok {
				out.sockets[path] = id
			}
		}
		return nil
	})
	return out
}

// identify returns the identity of a socket, or of a symbolic link to one; false if there is no socket.
func identify(path string, d fs.DirEntry) (identity, bool) {
	info, err := d.Info()
	if err != nil {
		return identity{}, false
	}
	id := identity{file: fileOf(info)}
	if d.Type()&fs.ModeSymlink == 0 {
		return id, true
	}
	target, err := os.Stat(path)
	if err != nil || target.Mode()&fs.ModeSocket == 0 {
		return identity{}, false
	}
	id.target = fileOf(target)
	return id, true
}

func fileOf(info fs.FileInfo) file {
	f := file{made: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.dev, f.ino = uint64(st.Dev), st.Ino //nolint:unconvert // Dev's type differs by system
	}
	return f
}
