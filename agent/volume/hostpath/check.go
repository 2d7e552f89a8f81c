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
	// Got is the actual type; "" if it is not known, and Err says why.
	Got v1.HostPathType
	Err error
}

// Error implements error, with upstream's text.
func (e *TypeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("hostPath type check failed, %s is not a %s, unable to determine its type: %v", e.Path, e.Want, e.Err)
	}
	return fmt.Sprintf("hostPath type check failed: %s is not a %s, it's a %s", e.Path, e.Want, e.Got)
}

// Unwrap returns the cause.
func (e *TypeError) Unwrap() error { return e.Err }

// missingError is that of a path that does not exist, with upstream's text.
type missingError struct{ path string }

func (e missingError) Error() string { return fmt.Sprintf("path %q does not exist", e.path) }

// Unwrap lets errors.Is find that nothing is there.
func (missingError) Unwrap() error { return fs.ErrNotExist }

// errUnknown is that of a path of another type, such as a named pipe. Upstream: pkg/volume/util/hostutil/hostutil.go.
var errUnknown = errors.New("only recognise file, directory, socket, block device and character device")

// words returns a type in words.
func words(typ v1.HostPathType) string {
	switch typ {
	case v1.HostPathDirectory:
		return "directory"
	case v1.HostPathSocket:
		return "socket file"
	case v1.HostPathCharDev:
		return "character device"
	case v1.HostPathBlockDev:
		return "block device"
	case v1.HostPathFile, v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathFileOrCreate: // only a file is expected, of these
	}
	return "file"
}

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
		return expect(path, v1.HostPathDirectory)
	case v1.HostPathFileOrCreate:
		if missing(path) {
			return makeFile(path)
		}
		return expect(path, v1.HostPathFile)
	case v1.HostPathDirectory, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev:
		return expect(path, typ)
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

func expect(path string, want v1.HostPathType) error {
	got, err := typeAt(path)
	if err != nil || got != want {
		return &TypeError{Path: path, Want: words(want), Got: got, Err: err}
	}
	return nil
}

// typeAt returns the type of what is there.
//
// Upstream: pkg/volume/util/hostutil/hostutil.go, getFileType.
func typeAt(path string) (v1.HostPathType, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missingError{path}
	case err != nil:
		return "", err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return v1.HostPathDirectory, nil
	case mode.IsRegular():
		return v1.HostPathFile, nil
	case mode&fs.ModeSocket != 0:
		return v1.HostPathSocket, nil
	case mode&fs.ModeCharDevice != 0:
		return v1.HostPathCharDev, nil
	case mode&fs.ModeDevice != 0:
		return v1.HostPathBlockDev, nil
	}
	return "", errUnknown
}
