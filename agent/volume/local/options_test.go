package local

import (
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// The mount options of a persistent volume may be in its annotation.
func TestMountOptionsInAnnotation(t *testing.T) {
	root, data := t.TempDir(), t.TempDir()
	m := mount.NewFakeMounter(nil)
	p, err := New(Config{RootDir: root, Mounter: m})
	if err != nil {
		t.Fatal(err)
	}
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{v1.MountOptionAnnotation: "noexec,nodev"}},
		Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}}},
	}
	at := volume.Place{Dir: filepath.Join(root, "pods", "u", "volumes", "kubernetes.io~local-volume", "pv"), Name: "pv"}
	if _, err := p.SetUp(t.Context(), volume.Spec{Pod: &v1.Pod{}, PV: pv, ReadOnly: true, Place: at}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"bind", "nodev", "noexec", "ro"}; len(m.MountPoints) != 1 || !slices.Equal(m.MountPoints[0].Opts, want) {
		t.Errorf("mounted %+v, want the options %q", m.MountPoints, want)
	}
}
