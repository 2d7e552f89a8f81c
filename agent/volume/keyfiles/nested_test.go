package keyfiles_test

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/keyfiles"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/projected"
)

// An ephemeral container mounts another volume within a volume of files: the volume has another version, and gets a mount point for it.
func TestNestedOfEphemeralContainers(t *testing.T) {
	memory, optional := memdir.Plain(), true
	maps, err := keyfiles.New(keyfiles.Config{Kind: keyfiles.ConfigMap, Memory: memory, Objects: objects{}})
	if err != nil {
		t.Fatal(err)
	}
	down, err := downwardapi.New(downwardapi.Config{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	proj, err := projected.New(projected.Config{Fields: downwardapi.Config{Memory: memory}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plugin volume.Plugin
		source v1.VolumeSource
	}{
		{maps, v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "none"}, Optional: &optional}}},
		{down, v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}},
		{proj, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}},
	} {
		pod := &v1.Pod{}
		s := volume.Spec{Pod: pod, Volume: &v1.Volume{Name: "conf", VolumeSource: c.source}, Place: volume.Place{Dir: filepath.Join(t.TempDir(), "conf"), Name: "conf"}}
		before, err := c.plugin.Version(s)
		if err != nil {
			t.Fatal(err)
		}
		pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
			VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/etc/conf"}, {Name: "data", MountPath: "/etc/conf/data"}},
		}}}
		if after, err := c.plugin.Version(s); err != nil || after == before {
			t.Errorf("%s: the version %q stays, %v", c.plugin.Name(), after, err)
		}
		if _, err := c.plugin.SetUp(t.Context(), s); err != nil {
			t.Errorf("%s: %v", c.plugin.Name(), err)
		}
		if info, err := os.Stat(filepath.Join(s.Dir, "data")); err != nil || !info.IsDir() {
			t.Errorf("%s: no mount point: %v", c.plugin.Name(), err)
		}
	}
}
