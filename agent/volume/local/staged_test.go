package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// A disk that cannot be unmounted does not keep the pod.
func TestDiskStays(t *testing.T) {
	root := t.TempDir()
	disk := filepath.Join(root, "plugins", Name, "mounts", "pv")
	if err := os.MkdirAll(disk, 0o750); err != nil {
		t.Fatal(err)
	}
	m := mount.NewFakeMounter([]mount.MountPoint{{Device: "/dev/x", Path: disk}})
	m.UnmountFunc = func(string) error { return errors.New("busy") }
	p, err := New(Config{RootDir: root, Mounter: m})
	if err != nil {
		t.Fatal(err)
	}
	left, ok := errors.AsType[*volume.StagedError](p.TearDown(t.Context(), volume.Place{Dir: filepath.Join(root, "pods", "u", "pv"), PodUID: "u", Name: "pv"}))
	if !ok || left.Again(t.Context()) == nil {
		t.Fatalf("%v", left)
	}
	m.UnmountFunc = nil
	if err := left.Again(t.Context()); err != nil || len(m.MountPoints) != 0 {
		t.Errorf("%v, %v", err, m.MountPoints)
	}
	if err := left.Again(t.Context()); err != nil {
		t.Error(err)
	}
}
