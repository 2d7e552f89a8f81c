package pluginwatch

import (
	"context"
	"io/fs"
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
	// unanswered are the symbolic links whose targets are not known, because their file system does not answer in time.
	unanswered []string
}

// scan lists the sockets in and below dir, and the symbolic links to sockets. It omits hidden files and those that disappear meanwhile, and
// does not follow links to directories.
//
// Upstream: pkg/kubelet/pluginmanager/pluginwatcher/plugin_watcher.go, traversePluginDir.
func scan(ctx context.Context, dir string, links *follower) scanned {
	out := scanned{sockets: map[string]identity{}}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
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
		case d.Type()&fs.ModeSocket != 0:
			if info, err := d.Info(); err == nil {
				out.sockets[path] = identity{file: fileOf(info)}
			}
		case d.Type()&fs.ModeSymlink != 0:
			out.linked = true
			info, err := d.Info()
			if err != nil {
				break
			}
			switch to, ok := links.follow(path, ctx.Done()); {
			case !ok:
				out.unanswered = append(out.unanswered, path)
			case to.socket:
				out.sockets[path] = identity{file: fileOf(info), target: to.target}
			}
		}
		return nil
	})
	return out
}

// keep adds the sockets of unanswered links as they were: a plugin is not deregistered because a file system is slow.
func (s scanned) keep(known map[string]*entry) {
	for _, path := range s.unanswered {
		if e := known[path]; e != nil && e.id != (identity{}) {
			s.sockets[path] = e.id
		}
	}
}

func fileOf(info fs.FileInfo) file {
	f := file{made: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.dev, f.ino = uint64(st.Dev), st.Ino //nolint:unconvert // Dev's type differs by system
	}
	return f
}
