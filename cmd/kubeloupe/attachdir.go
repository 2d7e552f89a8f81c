package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// ownDir makes attach's own directory for root only. In a pod, it is an emptyDir, which the kubelet creates with mode 0777, and the control
// socket refuses a directory in which others can write. Only an empty directory is taken: what others left in it could be in the way.
func ownDir(socket string) error {
	dir := filepath.Dir(socket)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 == 0 {
		return nil //nolint:nilerr // the control socket creates it, or says what is wrong
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("directory %s was writable by other users and has %s: remove it", dir, left[0].Name())
	}
	return err
}
