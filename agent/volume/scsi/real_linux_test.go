package scsi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/mount-utils"
)

// kernel mounts for real: a tmpfs in place of a disk's file system, with the disk's device as its source.
type kernel struct{ mount.Interface }

func (k kernel) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	if fstype != "" {
		actual, err := filepath.EvalSymlinks(source)
		if err != nil {
			return err
		}
		source, fstype, options = actual, "tmpfs", nil
	}
	return k.Interface.MountSensitive(source, target, fstype, options, sensitive)
}

// With mounts of the kernel, and a root directory that is a link: two pods share the disk, which stays mounted for the second one, and the next
// agent finds both kinds of volumes.
func TestRealMounts(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	node := kernel{mount.New("")}
	try := t.TempDir()
	if err := node.Mount("tmpfs", try, "tmpfs", nil); err != nil {
		t.Skip("mounts are not possible: ", err)
	}
	if err := node.Unmount(try); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // also after a failure
		points, err := node.List()
		if err != nil {
			t.Error(err)
		}
		for _, m := range slices.Backward(points) {
			if strings.HasPrefix(m.Path, b.dir+"/") {
				_ = node.Unmount(m.Path)
			}
		}
	})
	if err := os.Symlink(b.path("root"), b.path("link")); err != nil {
		t.Fatal(err)
	}
	b.cfg.RootDir, b.cfg.Mounter = b.path("link"), node
	b.restart()
	one, two, device := b.spec("u1", nil), b.spec("u2", nil), b.asBlock(b.spec("u3", nil))
	b.setUp(one)
	b.setUp(two)
	b.setUp(device)
	if err := os.WriteFile(filepath.Join(one.Dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(two.Dir, "file")); string(got) != "x" {
		t.Errorf("the second pod sees %q, %v", got, err)
	}
	b.tearDown(one)
	b.restart()
	b.setUp(device) // adopted
	if err := b.p.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(two.Dir, "file")); string(got) != "x" {
		t.Errorf("after the restart, the second pod sees %q, %v", got, err)
	}
	b.restart()
	b.tearDown(two)
	if b.sessions() != 1 || b.read("sys/block/sdax/device/delete") != "" {
		t.Error("the block volume's disk is removed")
	}
	b.restart()
	b.tearDown(device)
	points, err := node.List()
	for _, m := range points {
		if strings.HasPrefix(m.Path, b.dir) {
			t.Errorf("left: %+v", m)
		}
	}
	if err != nil {
		t.Error(err)
	}
	b.gone("real")
}
