// Package fsgroup sets the group of a volume's files to the pod's fsGroup.
//
// It decides the group and the mode bits. It never follows a link. A file that cannot be changed is counted and is no error; one that vanishes
// meanwhile is neither. Only a Change runs a goroutine, while it works, and publishes VolumeProgress.
//
// Upstream: pkg/volume/volume_linux.go.
package fsgroup

import (
	"context"
	"os"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

// Of returns the pod's fsGroup; nil for none.
func Of(pod *v1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

// Apply sets the group of everything at and below the directory path in root, and makes it readable and, unless readOnly, writable
// for the group. Files that are created later in these directories get the group too. A nil group changes nothing.
// Of links, only the group changes. An agent that does not run as root cannot change the group of files. It returns what could not be changed;
// an error says that the files could not be listed.
func Apply(root *os.Root, path string, group *int64, readOnly bool) (Failures, error) {
	return at(root, path, group, readOnly, (*walk).deep)
}

// One is Apply for only the directory itself, without its children.
func One(root *os.Root, path string, group *int64, readOnly bool) (Failures, error) {
	return at(root, path, group, readOnly, (*walk).top)
}

func at(root *os.Root, path string, group *int64, readOnly bool, do func(*walk, *os.File) error) (Failures, error) {
	if group == nil {
		return Failures{}, nil
	}
	dir, err := root.Open(path)
	if err != nil {
		return Failures{}, err
	}
	defer dir.Close() //nolint:errcheck // nothing is written through it
	w := walk{ctx: context.Background(), group: int(*group), readOnly: readOnly, files: new(atomic.Int64)}
	err = do(&w, dir)
	return w.failures, err
}
