package podspec

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// LimitedMemoryVolume reports whether the volume is an emptyDir in memory with a size limit.
//
// Upstream: pkg/kubelet/allocation/allocation_manager.go, VolHasMemoryBackedEmptyDirSizeLimit.
func LimitedMemoryVolume(v *v1.Volume) bool {
	e := v.EmptyDir
	return e != nil && e.Medium == v1.StorageMediumMemory && e.SizeLimit != nil && !e.SizeLimit.IsZero()
}

// HugePagesVolume reports whether the volume is an emptyDir in huge pages.
func HugePagesVolume(v *v1.Volume) bool {
	e := v.EmptyDir
	return e != nil && (e.Medium == v1.StorageMediumHugePages || strings.HasPrefix(string(e.Medium), string(v1.StorageMediumHugePagesPrefix)))
}
