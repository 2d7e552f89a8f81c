package downwardapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
)

func plainItems(v *v1.Volume) ([]v1.DownwardAPIVolumeFile, *int32, bool) {
	if v.DownwardAPI == nil {
		return nil, nil, false
	}
	return v.DownwardAPI.Items, v.DownwardAPI.DefaultMode, true
}

func projectedItems(v *v1.Volume) ([]v1.DownwardAPIVolumeFile, *int32, bool) {
	if v.Projected == nil {
		return nil, nil, false
	}
	var items []v1.DownwardAPIVolumeFile
	for _, s := range v.Projected.Sources {
		if s.DownwardAPI == nil {
			return nil, nil, false
		}
		items = append(items, s.DownwardAPI.Items...)
	}
	return items, v.Projected.DefaultMode, true
}

// files says what the volume shall hold. Of two items with one path the later counts.
//
// Upstream: pkg/volume/downwardapi/downwardapi.go, CollectData.
func (p *Plugin) files(s volume.Spec) (map[string]atomicdir.File, error) {
	items, defaultMode, _ := p.items(s.Volume)
	mode := v1.DownwardAPIVolumeSourceDefaultMode
	if defaultMode != nil {
		mode = *defaultMode
	}
	files := map[string]atomicdir.File{}
	var errs []error
	for i := range items {
		it := &items[i]
		value, err := p.value(s.Pod, it)
		if err != nil {
			errs = append(errs, fmt.Errorf("file %q: %w", it.Path, err))
			continue
		}
		f := atomicdir.File{Data: []byte(value), Mode: fs.FileMode(mode) & fs.ModePerm}
		if it.Mode != nil {
			f.Mode = fs.FileMode(*it.Mode) & fs.ModePerm
		}
		files[it.Path] = f
	}
	return files, errors.Join(errs...)
}

func (p *Plugin) value(pod *v1.Pod, it *v1.DownwardAPIVolumeFile) (string, error) {
	switch {
	case it.FieldRef != nil:
		return fieldpath.FieldValue(pod, it.FieldRef.FieldPath, fieldpath.Inputs{HostIPs: p.cfg.HostIPs})
	case it.ResourceFieldRef != nil:
		return fieldpath.ResourceValue(pod, nil, it.ResourceFieldRef, p.cfg.Allocatable)
	}
	return "", errors.New("want fieldRef or resourceFieldRef")
}

// digest changes whenever a file's path, mode or data does.
func digest(files map[string]atomicdir.File) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		h.Write(fmt.Appendf(nil, "%q %o %d\n", name, f.Mode, len(f.Data)))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
