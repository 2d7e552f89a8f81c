package oom

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// open opens the kernel log at its end. The file is only read; reads wait in the poller, not in a thread.
func open() (io.ReadCloser, error) {
	f, err := os.OpenFile(kernelLog, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
