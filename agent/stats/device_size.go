package stats

import (
	"io"
	"os"
	"syscall"
)

// deviceSize returns the size of a block device in bytes, and false if it is unknown.
//
// Upstream: pkg/volume/metrics_block.go.
func deviceSize(path string) (uint64, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }() // nothing was written
	n, err := f.Seek(0, io.SeekEnd)
	return uint64(n), err == nil
}
