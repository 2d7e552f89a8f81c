package scsi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

const (
	wwn  = "50060e801049cfd1"
	wwid = "3600508b400105e210000900000490000"
)

// fc returns a node with a Fibre Channel disk: paths are its devices.
func newFC(t *testing.T, paths ...string) *bench {
	t.Helper()
	b := newBench(t, NewFC, nil)
	b.write("sys/class/scsi_host/host0/scan", "")
	for i, name := range paths {
		b.addDisk(name, fmt.Sprintf("by-path/pci-0000:00:%02d.0-fc-0x%s-lun-0", i, wwn))
	}
	return b
}

func (b *bench) addDisk(name, link string) {
	b.t.Helper()
	b.write("dev/"+name, "")
	b.write("sys/block/"+name+"/device/delete", "")
	path := b.path("dev/disk", link)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(b.path("dev", name), path)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) addMap(dm string, paths ...string) {
	b.t.Helper()
	b.write("dev/"+dm, "")
	b.write("sys/block/"+dm+"/dm/uuid", "mpath-x\n")
	for _, p := range paths {
		b.write("sys/block/"+dm+"/slaves/"+p, "")
		b.write("sys/block/"+p+"/holders/"+dm, "")
	}
}

func (b *bench) fcSpec(uid string, edit func(*v1.FCVolumeSource)) volume.Spec {
	src := &v1.FCVolumeSource{TargetWWNs: []string{wwn}, Lun: new(int32(0)), FSType: "ext4"}
	if edit != nil {
		edit(src)
	}
	return b.place(uid, v1.VolumeSource{FC: src})
}

func TestFC(t *testing.T) {
	b := newFC(t, "sda")
	one, two := b.fcSpec("u1", nil), b.fcSpec("u2", nil)
	out, err := b.p.SetUp(t.Context(), one)
	if err != nil || out.HostPath != one.Dir || out.ReadOnly {
		t.Fatalf("%+v, %v", out, err)
	}
	b.setUp(two)
	const dir = "/root/plugins/kubernetes.io/fc/50060e801049cfd1-lun-0"
	if diff := cmp.Diff([]string{"/dev/sda " + dir, "/dev/sda /root/pods/u1/volumes/kubernetes.io~fc/vol", "/dev/sda /root/pods/u2/volumes/kubernetes.io~fc/vol"}, b.mounted()); diff != "" {
		t.Error(diff)
	}
	if got := b.read("sys/class/scsi_host/host0/scan"); got != "- - -" { // one path: there may be more
		t.Errorf("scan %q", got)
	}
	b.tearDown(one)
	b.expect()
	b.restart()
	b.tearDown(two)
	b.expect("blockdev --flushbufs /dev/sda")
	if got := b.read("sys/block/sda/device/delete"); got != "1" {
		t.Errorf("delete %q", got)
	}
	b.gone("fc")
}

// With a multipath device, nothing is scanned; all its paths are removed after it.
func TestFCMultipath(t *testing.T) {
	b := newFC(t, "sda", "sdb")
	b.addMap("dm-0", "sda", "sdb")
	s := b.fcSpec("u", nil)
	b.setUp(s)
	if got := b.mounted(); len(got) != 2 || !strings.HasPrefix(got[0], "/dev/dm-0 ") || b.read("sys/class/scsi_host/host0/scan") != "" {
		t.Errorf("%q, scanned %q", got, b.read("sys/class/scsi_host/host0/scan"))
	}
	b.write("script-multipath", `echo 'map in use' >&2; exit 1`)
	if err := b.tryTearDown(s); err == nil || !strings.Contains(err.Error(), "multipath: remove device dm-0: exit status 1: map in use") {
		t.Error(err)
	}
	b.calls()
	if err := os.Remove(b.path("script-multipath")); err != nil {
		t.Fatal(err)
	}
	b.tearDown(s)
	b.expect("multipath -f /dev/dm-0", "blockdev --flushbufs /dev/sda", "blockdev --flushbufs /dev/sdb")
	if b.read("sys/block/sda/device/delete")+b.read("sys/block/sdb/device/delete") != "11" {
		t.Error("a path is left")
	}
	b.gone("multipath")
}

// A disk by its WWID, with a space in it, which appears after the scan.
func TestFCWWIDAppears(t *testing.T) {
	b := newFC(t)
	s := b.fcSpec("u", func(s *v1.FCVolumeSource) { s.TargetWWNs, s.Lun, s.WWIDs = nil, nil, []string{"VENDOR disk 1"} })
	if err := b.trySetUp(s); err == nil || err.Error() != `MountVolume.WaitForAttach failed: the device of ["VENDOR_disk_1"] in `+b.path("dev/disk/by-id")+" has not appeared within 200ms" {
		t.Error(err)
	}
	b.addDisk("sdc", "by-id/scsi-VENDOR_disk_1")
	b.setUp(s)
	if got := b.mounted(); got[0] != "/dev/sdc /root/plugins/kubernetes.io/fc/VENDOR_disk_1" {
		t.Errorf("%q", got)
	}
	b.restart()
	b.tearDown(s)
	if b.read("sys/block/sdc/device/delete") != "1" {
		t.Error("the disk is left")
	}
	b.gone("wwid")
}

// LVM on a disk is no multipath device, and what uses it keeps it.
func TestFCHeld(t *testing.T) {
	b := newFC(t, "sda")
	b.addMap("dm-1", "sda")
	b.write("sys/block/dm-1/dm/uuid", "LVM-x\n")
	s := b.asBlock(b.fcSpec("u", nil))
	b.setUp(s)
	if to, err := os.Readlink(s.Dir); err != nil || to != b.path("dev/sda") {
		t.Error(to, err)
	}
	if err := b.tryTearDown(s); err == nil || !strings.Contains(err.Error(), "the disk sda is still used by dm-1") || b.read("sys/block/sda/device/delete") != "" {
		t.Error(err)
	}
	if err := os.Remove(b.path("sys/block/sda/holders/dm-1")); err != nil {
		t.Fatal(err)
	}
	b.tearDown(s)
	b.gone("block")
}

// Partitions of a multipath device that nothing uses do not keep it.
func TestFCPartitions(t *testing.T) {
	b := newFC(t, "sda")
	b.addMap("dm-0", "sda")
	b.write("sys/block/dm-0/holders/dm-3", "")
	b.write("sys/block/dm-3/dm/uuid", "part1-mpath-x\n")
	s := b.asBlock(b.fcSpec("u", nil))
	b.setUp(s)
	b.write("dev/dm-3", "")
	if err := b.kernel.Mount(b.path("dev/dm-3"), b.path("mnt"), "ext4", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.tryTearDown(s); err == nil || !strings.Contains(err.Error(), "still used by "+b.path("mnt")) {
		t.Error(err)
	}
	if err := b.kernel.Unmount(b.path("mnt")); err != nil {
		t.Fatal(err)
	}
	b.tearDown(s)
	b.gone("block")
}

// Two volumes are the same disk, one as a block volume: it stays until both are gone.
func TestFCShared(t *testing.T) {
	b := newFC(t, "sda")
	one, two := b.fcSpec("u1", nil), b.asBlock(b.fcSpec("u2", nil))
	b.setUp(one)
	b.setUp(two)
	b.tearDown(one)
	if b.read("sys/block/sda/device/delete") != "" {
		t.Error("the disk of the block volume is removed")
	}
	b.tearDown(two)
	if b.read("sys/block/sda/device/delete") != "1" {
		t.Error("the disk is left")
	}
}

func TestFCInterrupted(t *testing.T) {
	for _, block := range []bool{false, true} {
		for _, ends := range []bool{false, true} {
			for n := range 8 {
				what := fmt.Sprintf("block %t, ends %t, after %d steps", block, ends, n)
				b := newFC(t, "sda", "sdb")
				b.addMap("dm-0", "sda", "sdb")
				s := b.fcSpec("u", nil)
				if block {
					s = b.asBlock(s)
				}
				if ends {
					b.setUp(s)
				}
				b.budget(n)
				step := b.trySetUp
				if ends {
					step = b.tryTearDown
				}
				err := step(s)
				b.budget(-1)
				b.restart()
				if again := errors.Join(b.tryTearDown(s), os.RemoveAll(filepath.Dir(s.Dir)), b.p.Clean(t.Context())); again != nil {
					t.Errorf("%s (%v): %v", what, err, again)
				}
				b.gone(what)
			}
		}
	}
}

// A pod does not relabel the files of a read-only volume, which are others'.
func TestReadOnly(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		b := newFC(t, "sda")
		out, err := b.p.SetUp(t.Context(), b.fcSpec("u1", func(src *v1.FCVolumeSource) { src.ReadOnly = readOnly }))
		if err != nil || out.ReadOnly != readOnly || out.SELinuxRelabel == readOnly {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
