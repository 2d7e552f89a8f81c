package wholefile

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Limits of files, in bytes, for [Read]: of files in which a program keeps a few lines, and of lists that people or
// programs write.
const (
	Small = 64 << 10
	Large = 4 << 20
)

// Read returns a regular file that only root or the agent's own user writes: configuration, certificates, state. Links
// are followed. It does not wait for a writer, as opening a named pipe would. A file that is longer than limit is an
// error, and the rest is not read into memory. For files that a container can write, use package guestfile.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%v)", path, info.Mode().Type())
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes, the limit for such a file", path, limit)
	}
	return text, err
}
