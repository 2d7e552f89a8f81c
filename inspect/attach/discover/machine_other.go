//go:build !linux

package discover

import (
	"io/fs"
	"os"
)

// Machine is this machine's files: there is no /proc to find a kubelet by.
type Machine struct{}

// Open implements fs.FS.
func (Machine) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadLink implements fs.ReadLinkFS.
func (Machine) ReadLink(name string) (string, error) { return os.Readlink("/" + name) }

// Lstat implements fs.ReadLinkFS.
func (Machine) Lstat(name string) (fs.FileInfo, error) { return os.Lstat("/" + name) }
