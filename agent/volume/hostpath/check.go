package hostpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	v1 "k8s.io/api/core/v1"
)

// TypeError means that a path does not have the type in the pod's spec.
type TypeError struct {
	Path string
	// Want is what was requested, in words.
	Want string
	// Got is the actual type, in words; "" if Err has it.
	Got string
	Err error
}

// Error implements error.
func (e *TypeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("hostPath type check failed: %s is not a %s: %v", e.Path, e.Want, e.Err)
	}
	return fmt.Sprintf("hostPath type check failed: %s is not a %s, it is a %s", e.Path, e.Want, e.Got)
}

// Unwrap returns the cause.
func (e *TypeError) Unwrap() error { return e.Err }

const (
	directory = "directory"
	file      = "file"
	socket    = "socket file"
	charDev   = "character device"
	blockDev  = "block device"
)

// check checks the type of path, and creates it if the type requires it. Links are followed.
//
// Upstream: pkg/volume/hostpath/host_path.go, checkTypeInternal.
func check(path string, typ v1.HostPathType) error {
	switch typ {
	case v1.HostPathUnset:
		return nil
	case v1.HostPathDirectoryOrCreate:
		if missing(path) {
			return os.MkdirAll(path, 0o755) // as documented for this type
		}
		return expect(path, directory)
	case v1.HostPathFileOrCreate:
		if missing(path) {
			return makeFile(path)
		}
		return expect(path, file)
	case v1.HostPathDirectory:
		return expect(path, directory)
	case v1.HostPathFile:
		return expect(path, file)
	case v1.HostPathSocket:
		return expect(path, socket)
	case v1.HostPathCharDev:
		return expect(path, charDev)
	case v1.HostPathBlockDev:
		return expect(path, blockDev)
	}
	return fmt.Errorf("hostPath.type %q: want Directory, DirectoryOrCreate, File, FileOrCreate, Socket, CharDevice, BlockDevice or nothing", typ)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func makeFile(path string) error {
	// As documented for this type. Others may have replaced it by a pipe just now: do not block on it.
	f, err := os.OpenFile(path, os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func expect(path, want string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &TypeError{Path: path, Want: want, Err: err}
	}
	if got := kind(info.Mode()); got != want {
		return &TypeError{Path: path, Want: want, Got: got}
	}
	return nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return directory
	case mode.IsRegular():
		return file
	case mode&fs.ModeSocket != 0:
		return socket
	case mode&fs.ModeCharDevice != 0:
		return charDev
	case mode&fs.ModeDevice != 0:
		return blockDev
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	}
	return "file of another kind"
}
