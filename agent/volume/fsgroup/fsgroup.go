// Package fsgroup sets the group of a volume's files to the pod's fsGroup.
//
// It decides the group and the mode bits. It never follows a link. Only a Change runs a goroutine, while it works, and
// publishes VolumeProgress.
//
// Upstream: pkg/volume/volume_linux.go.
package fsgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"
)

// Of returns the pod's fsGroup; nil for none.
func Of(pod *v1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

// Apply sets the group of everything at and below path in root, and makes it readable and, unless readOnly, writable
// for the group. Files that are created later in these directories get the group too. A nil group changes nothing.
// Links are not changed. An agent that does not run as root cannot change the group of files, and changes nothing.
func Apply(root *os.Root, path string, group *int64, readOnly bool) error {
	if group == nil {
		return nil
	}
	return fs.WalkDir(root.FS(), path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return one(root, name, entry, int(*group), readOnly)
	})
}

// One is Apply for only the path itself, without its children.
func One(root *os.Root, path string, group *int64, readOnly bool) error {
	if group == nil {
		return nil
	}
	info, err := root.Lstat(path)
	if err != nil {
		return err
	}
	return one(root, path, fs.FileInfoToDirEntry(info), int(*group), readOnly)
}

func one(root *os.Root, name string, entry fs.DirEntry, group int, readOnly bool) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	err = root.Lchown(name, -1, group)
	if err != nil && (!errors.Is(err, fs.ErrPermission) || os.Geteuid() == 0) {
		return fmt.Errorf("give volume to fsGroup %d: %w", group, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	bits := fs.FileMode(0o660)
	if readOnly {
		bits = 0o440
	}
	if info.IsDir() {
		bits |= fs.ModeSetgid | 0o110
	}
	const keep = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if err := root.Chmod(name, info.Mode()&keep|bits); err != nil {
		return fmt.Errorf("open volume to fsGroup %d: %w", group, err)
	}
	return nil
}
