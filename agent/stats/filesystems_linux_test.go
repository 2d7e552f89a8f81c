package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The node has a line for each of its block devices that are mounted, with the device. Other file systems have none, nor do devices that
// do not answer.
func TestNodeFileSystems(t *testing.T) {
	at := t.TempDir()
	const line = "%d 1 8:1 / %s rw,relatime shared:1 - %s %s rw\n"
	var list strings.Builder
	for i, m := range [][3]string{
		{at, "ext4", "/dev/sda1"},
		{at + "/bind", "ext4", "/dev/sda1"},
		{at, "xfs", "/dev/mapper/data"},
		{at + "/gone", "ext4", "/dev/sdb1"},
		{at, "tmpfs", "tmpfs"},
		{at, "nfs4", "server:/dev/x"},
		{at, "devtmpfs", "/dev/udev"},
		{at, "overlay", "overlay"},
	} {
		fmt.Fprintf(&list, line, 20+i, m[0], m[1], m[2])
	}
	s, _ := world(t)
	write(t, s.cfg.Proc, map[string]string{"self/mountinfo": list.String()})
	got := scrape(t, s.ContainerMetrics())
	for _, name := range []string{"container_fs_usage_bytes", "container_fs_limit_bytes", "container_fs_inodes_free", "container_fs_inodes_total"} {
		n := 0
		for _, m := range got[name].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "id" && l.GetValue() == top {
					n++
				}
			}
		}
		for _, device := range []string{"/dev/sda1", "/dev/mapper/data"} {
			if m := find(got[name], map[string]string{"id": top, "device": device}); m.GetGauge().GetValue() == 0 || m.GetTimestampMs() == 0 {
				t.Errorf("%s of %s: %v", name, device, m)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d file systems of the node", name, n)
		}
	}
	if m := find(got["container_fs_usage_bytes"], map[string]string{"container": "web", "device": ""}); m.GetGauge().GetValue() != 4096 {
		t.Errorf("the writable layer: %v", m)
	}
}

func TestManyFileSystems(t *testing.T) {
	var list strings.Builder
	for i := range 2 * maxFileSystems {
		fmt.Fprintf(&list, "%d 1 8:1 / /mnt/a\\040b%d rw - ext4 /dev/sd%d rw\n", i, i, i)
	}
	s, _ := world(t)
	write(t, s.cfg.Proc, map[string]string{"self/mountinfo": list.String()})
	if found := blockMounts(list.String()); len(found) != maxFileSystems || found[1] != (blockMount{"/dev/sd1", "/mnt/a b1"}) {
		t.Errorf("%d mounts, %v", len(found), found[:2])
	}
	for name, text := range map[string]string{"empty": "", "not a list": "x\ny y\n", "too long": strings.Repeat("x", maxMounts+1)} {
		write(t, s.cfg.Proc, map[string]string{"self/mountinfo": text})
		if got := s.fileSystems(time.Now()); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
