package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func TestDirectoryIsBound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root, data := t.TempDir(), t.TempDir()
	p, err := New(Config{RootDir: root, Mounter: mount.New("")})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(uid string, readOnly bool) volume.Spec {
		return volume.Spec{
			Pod: &v1.Pod{}, Volume: &v1.Volume{Name: "pv"}, ReadOnly: readOnly,
			PV: &v1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "pv"},
				Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}}},
			},
			Place: volume.Place{Dir: filepath.Join(root, "pods", uid, "volumes/kubernetes.io~local-volume/pv"), PodUID: types.UID(uid), Name: "pv"},
		}
	}
	rw, ro := spec("u1", false), spec("u2", true)
	for _, s := range []volume.Spec{rw, ro, rw} {
		if out, err := p.SetUp(t.Context(), s); err != nil || out.ReadOnly != s.ReadOnly || out.SELinuxRelabel == s.ReadOnly {
			t.Fatalf("%+v, %v", out, err)
		}
		t.Cleanup(func() { _ = p.TearDown(t.Context(), s.Place) })
	}
	if err := os.WriteFile(filepath.Join(rw.Dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(ro.Dir, "file")); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(ro.Dir, "file2"), nil, 0o600); err == nil {
		t.Error("a read-only volume was written")
	}
	for _, s := range []volume.Spec{rw, ro} {
		for range 2 {
			if err := p.TearDown(t.Context(), s.Place); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Lstat(s.Dir); !os.IsNotExist(err) {
			t.Errorf("%s: %v", s.Dir, err)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "file")); err != nil {
		t.Errorf("the data: %v", err)
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), root) {
		t.Errorf("mounts are left in %s (%v)", root, err)
	}
}

func TestBlock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root := t.TempDir()
	device := filepath.Join(t.TempDir(), "disk") // replaces a device: it is only bound and linked
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{RootDir: root, Mounter: mount.New("")})
	if err != nil {
		t.Fatal(err)
	}
	s := volume.Spec{
		Pod: &v1.Pod{}, Block: true,
		PV: &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv"},
			Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: device}}},
		},
		Place: volume.Place{Dir: filepath.Join(root, "pods/u/volumeDevices/kubernetes.io~local-volume/pv"), PodUID: "u", Name: "pv"},
	}
	for range 2 {
		if _, err := p.SetUpBlock(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(s.Dir); err != nil || to != device {
		t.Errorf("link to %q, %v", to, err)
	}
	at := filepath.Join(root, "plugins/kubernetes.io~local-volume/volumeDevices/pv")
	if _, err := os.Lstat(filepath.Join(at, "u")); err != nil || p.MapDir(s) != at {
		t.Errorf("%v, in %s", err, p.MapDir(s))
	}
	if err := p.TearDownBlock(t.Context(), s.Place); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(at); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}
