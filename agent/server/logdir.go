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

// logDir is the node's log directory as a file system: regular files and directories in it. Containers write there
// (their logs, and whatever a pod with a hostPath puts there), so it follows no link that leaves the directory, opens
// nothing that could block, and shows at most maxEntries of a directory. Upstream follows links wherever they lead.
type logDir string

// maxEntries limits how many entries of a directory are shown.
const maxEntries = 10000

// Open implements http.FileSystem.
func (d logDir) Open(name string) (http.File, error) {
	top, err := filepath.EvalSymlinks(string(d))
	if err != nil {
		return nil, err
	}
	// Links of /var/log/containers are absolute, which os.Root refuses, so they are resolved first. os.Root checks
	// again what changes meanwhile.
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
	defer func() { _ = root.Close() }() // an open file remains open
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		err = errors.New("neither a file nor a directory")
	}
	if err != nil {
		_ = f.Close() // nothing was written
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
