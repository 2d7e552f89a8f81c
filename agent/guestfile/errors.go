package guestfile

import (
	"fmt"
	"io/fs"
	"time"
)

// KindError says that a path is not a regular file.
type KindError struct {
	Path string
	Mode fs.FileMode
}

// Error implements error.
func (e *KindError) Error() string {
	return fmt.Sprintf("%s is a %s, want a regular file", e.Path, kind(e.Mode))
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeCharDevice != 0:
		return "character device"
	case m&fs.ModeDevice != 0:
		return "block device"
	}
	return "file of another kind (" + m.Type().String() + ")"
}

// SizeError says that a file is larger than the limit.
type SizeError struct {
	Path string
	// Size is the last known size in bytes: the file may grow in the meantime.
	Size, Limit int64
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is %d bytes long, want at most %d", e.Path, e.Size, e.Limit)
}

// LeasedError means that another process holds a lease on the file (fcntl F_SETLEASE). The package does not wait for it.
type LeasedError struct{ Path string }

// Error implements error.
func (e *LeasedError) Error() string {
	return e.Path + ": a process holds a lease on the file, so it cannot be opened now"
}

// SlowError says that an operation timed out: its file system does not respond.
type SlowError struct {
	Path string
	// After is how long the caller waited; 0 means that nothing was tried, because an earlier operation still hangs.
	After time.Duration
	// Hung is the total number of operations that hang.
	Hung int
}

// Error implements error.
func (e *SlowError) Error() string {
	if e.After == 0 {
		return fmt.Sprintf("%s: not tried, the file system does not answer: %d earlier file operations still hang", e.Path, e.Hung)
	}
	return fmt.Sprintf("%s: given up after %s, the file system does not answer", e.Path, e.After.Round(time.Millisecond))
}

// OutsideError says that a path in a volume leads out of it.
type OutsideError struct{ Root, Path string }

// Error implements error.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s leads out of the volume %s", e.Path, e.Root)
}
