package discover

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Machine is this machine's files. Kubelets, root and, below /proc, the kernel write them; opening one never waits.
type Machine struct{}

// Open implements fs.FS. A FIFO or a device does not block.
func (Machine) Open(name string) (fs.File, error) {
	return os.OpenFile(path.Join("/", name), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// ReadLink implements fs.ReadLinkFS.
func (Machine) ReadLink(name string) (string, error) { return os.Readlink(path.Join("/", name)) }

// Lstat implements fs.ReadLinkFS.
func (Machine) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(path.Join("/", name)) }
