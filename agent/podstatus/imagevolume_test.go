package podstatus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// Mounts of image volumes have the image that the runtime mounted, with the feature gate ImageVolumeWithDigest.
func TestImageDigests(t *testing.T) {
	for _, on := range []bool{true, false} {
		pod := aPod(v1.RestartPolicyAlways, "a")
		image := v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "data:1"}}
		pod.Spec.Volumes = []v1.Volume{
			{Name: "data", VolumeSource: image},
			{Name: "other", VolumeSource: image},
			{Name: "long", VolumeSource: image},
			{Name: "disk", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
			{Name: "data", MountPath: "/data"},
			{Name: "data", MountPath: "relative"},
			{Name: "other", MountPath: "/other"},
			{Name: "long", MountPath: "/long"},
			{Name: "disk", MountPath: "/disk"},
		}
		c := running("a")
		c.ImageMounts = map[string]string{"/data": "sha256:d", "/relative": "sha256:d", "/long": "sha256:" + strings.Repeat("d", 250), "/disk": "sha256:x"}
		got := map[string]string{}
		for _, m := range Generate(pod, seen(c), Inputs{Now: at(9), ImageDigests: on}).ContainerStatuses[0].VolumeMounts {
			if m.VolumeStatus != nil {
				got[m.MountPath] = m.VolumeStatus.Image.ImageRef
			}
		}
		want := map[string]string{"/data": "sha256:d", "relative": "sha256:d"}
		if !on {
			want = map[string]string{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("gate %t (-want +got):\n%s", on, diff)
		}
	}
}
