package podspec

import v1 "k8s.io/api/core/v1"

// Ephemeral reports whether a volume's content is on the node's disk and counts as the pod's ephemeral storage.
//
// Upstream: pkg/volume/util, IsLocalEphemeralVolume.
func Ephemeral(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault ||
		v.ConfigMap != nil || v.GitRepo != nil || v.DownwardAPI != nil || v.Projected != nil || v.Secret != nil
}
