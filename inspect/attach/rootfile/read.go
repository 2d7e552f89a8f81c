// Package rootfile reads files that root wrote for a kubelet: certificates, keys, kubeconfigs.
//
// It never waits for what is no regular file, and reads a limited part. It runs no goroutine and publishes nothing.
package rootfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// most is how much of a file Read reads.
const most = 1 << 20

// Read reads a regular file, 1 MiB at most. Root wrote it, or the user named it.
func Read(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return Regular(f, name, most)
}

// Regular reads an open file, limit bytes at most, and closes it. name is for the error if it is not a regular file.
func Regular(f fs.File, name string, limit int64) ([]byte, error) {
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
