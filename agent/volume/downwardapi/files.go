package downwardapi

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
)

// Files returns the files of the items. If two items have the same path, the later one counts.
//
// Upstream: pkg/volume/downwardapi/downwardapi.go, CollectData.
func (c Config) Files(pod *v1.Pod, items []v1.DownwardAPIVolumeFile, defaultMode *int32, defaultUser *int64) (files.Set, error) {
	out := files.Set{}
	var errs []error
	for i := range items {
		it := &items[i]
		value, err := c.value(pod, it)
		if err != nil {
			errs = append(errs, fmt.Errorf("file %q: %w", it.Path, err))
			continue
		}
		out[it.Path] = atomicdir.File{Data: []byte(value), Mode: files.Mode(it.Mode, defaultMode), User: c.Users.Of(it.User, defaultUser)}
	}
	return out, errors.Join(errs...)
}

func (c Config) value(pod *v1.Pod, it *v1.DownwardAPIVolumeFile) (string, error) {
	switch {
	case it.FieldRef != nil:
		var in fieldpath.Inputs
		if c.HostIPs != nil {
			in.HostIPs = c.HostIPs()
		}
		return fieldpath.FieldValue(pod, it.FieldRef.FieldPath, in)
	case it.ResourceFieldRef != nil:
		return fieldpath.ResourceValue(pod, nil, it.ResourceFieldRef, c.Allocatable)
	}
	return "", errors.New("want fieldRef or resourceFieldRef")
}
