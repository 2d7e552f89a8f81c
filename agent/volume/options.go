package volume

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// MountOptions returns the mount options of a persistent volume and others, sorted, each once. The old annotation has precedence over the
// field. Those of CSI volumes are in the field only.
//
// Upstream: pkg/volume/util/util.go, MountOptionFromSpec.
func MountOptions(s Spec, more ...string) []string {
	out := slices.Clone(more)
	if s.PV != nil {
		if text, ok := s.PV.Annotations[v1.MountOptionAnnotation]; ok {
			out = append(out, strings.Split(text, ",")...)
		} else {
			out = append(out, s.PV.Spec.MountOptions...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(o string) bool { return o == "" })
}
