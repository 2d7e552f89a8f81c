package subpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// clean removes the mounts in root, of all volumes: of one container, or of all if container is "". Empty directories
// are removed.
//
// Upstream: pkg/volume/util/subpath/subpath_linux.go, doCleanSubPaths.
func clean(root, container string) error {
	volumes, err := names(root)
	if err != nil || volumes == nil {
		return err
	}
	var errs []error
	for _, v := range volumes {
		containers := []string{container}
		if container == "" {
			if containers, err = names(filepath.Join(root, v)); err != nil {
				errs = append(errs, err)
			}
		}
		for _, c := range containers {
			errs = append(errs, cleanContainer(filepath.Join(root, v, c)))
		}
		errs = append(errs, removeEmpty(filepath.Join(root, v)))
	}
	return errors.Join(append(errs, removeEmpty(root))...)
}

func cleanContainer(dir string) error {
	mounts, err := names(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range mounts {
		at := filepath.Join(dir, name)
		if err := unmountAll(at, 0); err != nil {
			errs = append(errs, err)
			continue
		}
		// Only an empty directory or file, which was a mount point, is removed.
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, removeEmpty(dir))...)
}

// names lists a directory, without accessing its mount points; nil if it does not exist.
func names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	var all []string
	if err == nil {
		defer f.Close() //nolint:errcheck // nothing was written
		all, err = f.Readdirnames(-1)
	}
	if errors.Is(err, fs.ErrNotExist) { // it may have been removed since it was opened
		return nil, nil
	}
	return all, err
}

// removeEmpty removes a directory, if it is empty.
func removeEmpty(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}
