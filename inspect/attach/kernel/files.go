package kernel

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxText bounds what is read of one file of the kernel, maxMounts of a mount table, maxNames what is listed of one directory.
	maxText   = 64 << 10
	maxMounts = 16 << 20
	maxNames  = 4096
)

// text reads a file that the kernel writes: in /proc or in a cgroup.
func text(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, most))
}

// names lists a directory, maxNames at most: of cgroups the kernel, or below the kubelet's root directory root. Nothing in it is looked at, so
// that what is mounted there cannot hold this process up.
func names(dir string) ([]string, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	all, err := f.Readdirnames(maxNames)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}
