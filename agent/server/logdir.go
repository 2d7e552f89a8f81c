package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// logDir is the node's log directory as a file system: regular files and directories that lie in it. Containers write
// there (their logs, and whatever a pod with a hostPath puts there), so nothing that leads out of it is followed, nothing that could block is
// opened, and directories are shown up to maxEntries. Upstream follows links wherever they lead.
type logDir string

// maxEntries is how many entries of a directory are shown.
const maxEntries = 10000

// Open implements http.FileSystem.
func (d logDir) Open(name string) (http.File, error) {
	top, err := filepath.EvalSymlinks(string(d))
	if err != nil {
		return nil, err
	}
	// Links of /var/log/containers are absolute, which os.Root refuses, so they are resolved first. What is swapped
	// meanwhile is resolved by os.Root again.
	full, err := filepath.EvalSymlinks(filepath.Join(top, filepath.FromSlash(strings.TrimPrefix(name, "/"))))
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(top, full)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was opened stays so
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		err = errors.New("neither a file nor a directory")
	}
	if err != nil {
		_ = f.Close() // it was only opened
		return nil, err
	}
	return logFile{f}, nil
}

type logFile struct{ *os.File }

// ReadDir implements fs.ReadDirFile. It returns the first entries and ignores n, because a directory is listed with one call.
func (f logFile) ReadDir(int) ([]fs.DirEntry, error) {
	list, err := f.File.ReadDir(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}
