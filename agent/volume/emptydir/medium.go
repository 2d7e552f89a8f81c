package emptydir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// medium is the volume's storage medium.
type medium struct {
	memory    bool
	hugePages bool
	pageSize  int64 // of huge pages, in bytes
}

func mediumOf(s volume.Spec) (medium, error) {
	name := s.Volume.EmptyDir.Medium
	switch {
	case name == v1.StorageMediumDefault:
		return medium{}, nil
	case name == v1.StorageMediumMemory:
		return medium{memory: true}, nil
	case name == v1.StorageMediumHugePages || strings.HasPrefix(string(name), string(v1.StorageMediumHugePagesPrefix)):
		size, err := pageSize(s.Pod, name)
		return medium{hugePages: true, pageSize: size}, err
	}
	return medium{}, fmt.Errorf("emptyDir.medium %q: want Memory, HugePages, HugePages-SIZE or nothing", name)
}

// memorySize returns the size limit of a volume in memory, in bytes: the least of the volume's limit, the pod's memory
// limit and the node's allocatable memory; 0 if none is known.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, calculateEmptyDirMemorySize.
func memorySize(s volume.Spec, allocatable v1.ResourceList) int64 {
	size := allocatable.Memory().Value()
	lower := func(limit int64) {
		if limit > 0 && (size == 0 || limit < size) {
			size = limit
		}
	}
	if limit := qos.PodResources(s.Pod, qos.WithoutClaims, false, 100*time.Millisecond).Memory; limit != nil {
		lower(*limit)
	}
	if limit := s.Volume.EmptyDir.SizeLimit; limit != nil {
		lower(limit.Value())
	}
	return size
}

// pageSize returns the size in the medium's name, otherwise the only one that the pod requests; the pod must request
// it.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, getPageSizeMountOption.
func pageSize(pod *v1.Pod, name v1.StorageMedium) (int64, error) {
	requested := map[int64]int64{}
	note := func(list v1.ResourceList) { maps.Copy(requested, qos.HugePages(list)) }
	if pod.Spec.Resources != nil {
		note(pod.Spec.Resources.Requests)
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			note(list[i].Resources.Requests)
		}
	}
	sizes := slices.Sorted(maps.Keys(requested))
	if text, sized := strings.CutPrefix(string(name), string(v1.StorageMediumHugePagesPrefix)); sized {
		size, err := resource.ParseQuantity(text)
		if err != nil {
			return 0, fmt.Errorf("emptyDir.medium %q: the page size must be a quantity, as 2Mi: %w", name, err)
		}
		sizes = slices.DeleteFunc(sizes, func(s int64) bool { return s != size.Value() })
	}
	switch len(sizes) {
	case 0:
		return 0, fmt.Errorf("emptyDir.medium %q: no container requests huge pages of that size", name)
	case 1:
		return sizes[0], nil
	}
	return 0, fmt.Errorf("emptyDir.medium %q: containers request huge pages of several sizes: want HugePages-SIZE", name)
}
