package pluginwatch

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// scan lists the sockets in and below dir, and the directories to watch. It omits hidden files and those that disappear
// meanwhile.
func scan(dir string) (sockets map[string]identity, dirs []string) {
	sockets = map[string]identity{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // it went away, or is not ours to read: a later event tells
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			dirs = append(dirs, path)
		case d.Type()&fs.ModeSocket != 0:
			if info, err := d.Info(); err == nil {
				sockets[path] = identify(info)
			}
		}
		return nil
	})
	return sockets, dirs
}

func identify(info fs.FileInfo) identity {
	id := identity{made: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), st.Ino //nolint:unconvert // Dev's type differs by system
	}
	return id
}
