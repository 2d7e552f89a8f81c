package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// A volume has exactly the files of the latest setup, and the mount points of other volumes; nothing remains after it.
func TestSetUpAndTearDown(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/c"}, {Name: "data", MountPath: "/c/data"}}}}}}
	for name, store := range map[string]Store{"disk": {Memory: memdir.Plain(), Disk: true}, "memory, but may not mount": {Memory: memdir.Plain()}} {
		s := volume.Spec{Pod: pod, Volume: &v1.Volume{Name: "conf"}, Place: volume.Place{Dir: filepath.Join(t.TempDir(), "conf"), Name: "conf"}}
		for _, set := range []Set{
			{"a": {Data: []byte("1"), Mode: 0o644}, "sub/b": {Data: []byte("2"), Mode: 0o400}},
			{"a": {Data: []byte("3"), Mode: 0o600}},
			{},
		} {
			vol, err := store.SetUp(t.Context(), s, set)
			if err != nil || vol.HostPath != s.Dir || !vol.ReadOnly {
				t.Fatalf("%s: got %+v, %v, want a read-only volume at %s", name, vol, err, s.Dir)
			}
			got := Set{}
			for _, path := range []string{"a", "sub/b"} {
				text, err := os.ReadFile(filepath.Join(s.Dir, path))
				if err != nil {
					continue
				}
				info, err := os.Stat(filepath.Join(s.Dir, path))
				if err != nil {
					t.Fatal(err)
				}
				got[path] = atomicdir.File{Data: text, Mode: info.Mode() & fs.ModePerm}
			}
			if diff := cmp.Diff(set, got); diff != "" {
				t.Errorf("%s: files (-want +got):\n%s", name, diff)
			}
			if info, err := os.Stat(filepath.Join(s.Dir, "data")); err != nil || !info.IsDir() {
				t.Errorf("%s: mount point data: %v, want a directory", name, err)
			}
		}
		if err := store.TearDown(t.Context(), s.Place); err != nil {
			t.Errorf("%s: tear down: %v", name, err)
		}
		if _, err := os.Lstat(s.Dir); !os.IsNotExist(err) {
			t.Errorf("%s: after tear down: got %v, want no directory", name, err)
		}
	}
}
