package flex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/mount-utils"
)

// With the kernel's mounts: a driver that mounts a device, which the agent mounts for two pods, and a driver that mounts for a pod.
func TestKernelMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	kernel := mount.New("")
	b := newBench(t, func(c *Config) { c.Mounter = kernel })
	try := filepath.Join(b.dir, "try")
	if err := os.Mkdir(try, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Mount("tmpfs", try, "tmpfs", nil); err != nil {
		t.Skip("mounts are not possible: ", err)
	}
	t.Cleanup(func() { // also after a failure
		points, err := kernel.List()
		if err != nil {
			t.Error(err)
		}
		for _, m := range slices.Backward(points) {
			if strings.HasPrefix(m.Path, b.dir+"/") {
				_ = kernel.Unmount(m.Path)
			}
		}
	})
	b.install(name, `init) ok;; mountdevice) mount -t tmpfs tmpfs $2 && ok;; unmountdevice) umount $2 && ok;;`)
	b.install("cifs", plain+`mount) mount -t tmpfs tmpfs $2 && ok;; unmount) umount $2 && ok;;`)
	one, two := b.spec("u1", nil), b.spec("u2", nil)
	b.setUp(one)
	b.setUp(two)
	if err := os.WriteFile(filepath.Join(one.Dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(two.Dir, "file")); string(got) != "x" {
		t.Errorf("the second pod sees %q, %v", got, err)
	}
	b.tearDown(one)
	if mounted, err := kernel.IsMountPoint(b.p.staging(two.Place)); !mounted || err != nil {
		t.Errorf("the device of the second pod: mounted %t, %v", mounted, err)
	}
	b.tearDown(two)
	if _, err := os.Lstat(b.p.staging(two.Place)); !os.IsNotExist(err) {
		t.Errorf("the device's directory: %v", err)
	}
	own := b.spec("u3", nil)
	own.Volume.FlexVolume.Driver, own.Plugin = "cifs", "cifs"
	b.setUp(own)
	if mounted, err := kernel.IsMountPoint(own.Dir); !mounted || err != nil {
		t.Errorf("mounted %t, %v", mounted, err)
	}
	b.calls()
	b.setUp(own)
	b.expect()
	b.tearDown(own)
	if _, err := os.Lstat(own.Dir); !os.IsNotExist(err) {
		t.Errorf("the pod's directory: %v", err)
	}
}
