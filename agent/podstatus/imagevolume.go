package podstatus

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// maxImageRef is the longest ID that the API accepts, in bytes.
const maxImageRef = 256

// imageDigests adds the IDs of images to the mounts of image volumes. A mount that the runtime does not report as one of an image has
// none. Upstream v1.37.1 compares the volume's name with that of the runtime's mount, which has none: its statuses never have an ID.
//
// Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses; KEP-5365.
func (g *generator) imageDigests(c *podstate.Container, mounts []v1.VolumeMountStatus) {
	images := map[string]bool{}
	for i := range g.pod.Spec.Volumes {
		if v := &g.pod.Spec.Volumes[i]; v.Image != nil {
			images[v.Name] = true
		}
	}
	for i := range mounts {
		m := &mounts[i]
		id := c.ImageMounts["/"+strings.TrimPrefix(m.MountPath, "/")]
		if images[m.Name] && id != "" && len(id) <= maxImageRef {
			m.VolumeStatus = &v1.VolumeStatus{Image: &v1.ImageVolumeStatus{ImageRef: id}}
		}
	}
}
