package nfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func TestMount(t *testing.T) {
	inPod := func(server string, ro bool) volume.Spec {
		return volume.Spec{Volume: &v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: server, Path: "/x", ReadOnly: ro}}}}
	}
	pv := inPod("host", true)
	pv.PV = &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{MountOptions: []string{"nfsvers=4"}}}
	old := pv
	old.PV = &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.MountOptionAnnotation: "nolock,hard"}}}
	for _, tc := range []struct {
		spec    volume.Spec
		source  string
		options []string
	}{
		{inPod("host", false), "host:/x", []string{}},
		{inPod("host", true), "host:/x", []string{"ro"}},
		{inPod("fe80::1", false), "[fe80::1]:/x", []string{}},
		{pv, "host:/x", []string{"nfsvers=4"}},
		{old, "host:/x", []string{"hard", "nolock"}},
	} {
		fake := mount.NewFakeMounter(nil)
		p, err := New(fake)
		if err != nil {
			t.Fatal(err)
		}
		tc.spec.Dir = filepath.Join(t.TempDir(), "v")
		if _, err := p.SetUp(t.Context(), tc.spec); err != nil {
			t.Fatal(err)
		}
		if len(fake.MountPoints) != 1 || fake.MountPoints[0].Device != tc.source || fake.MountPoints[0].Type != "nfs" || !slices.Equal(fake.MountPoints[0].Opts, tc.options) {
			t.Errorf("mounted %+v, want %s with %v", fake.MountPoints, tc.source, tc.options)
		}
		if err := p.TearDown(t.Context(), tc.spec.Place); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(tc.spec.Dir); !os.IsNotExist(err) || len(fake.MountPoints) != 0 {
			t.Errorf("left: %v %v", fake.MountPoints, err)
		}
	}
}
