package podspec

import v1 "k8s.io/api/core/v1"

// Ephemeral reports whether what a volume has on the node's disk counts as the pod's ephemeral storage. Some of these volumes are usually in
// memory: see OnDisk.
func Ephemeral(v *v1.Volume) bool {
	return OnDisk(v) || v.DownwardAPI != nil || v.Projected != nil || v.Secret != nil
}

// OnDisk reports whether the content of a volume of the pod is on the node's disk.
//
// Upstream: pkg/volume/util/util.go, IsLocalEphemeralVolume.
func OnDisk(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil || v.GitRepo != nil
}
