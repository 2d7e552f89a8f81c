package scsi

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

var _ volume.Labeler = (*Plugin)(nil)

const (
	labelA = "system_u:object_r:container_file_t:s0:c1,c2"
	labelB = "system_u:object_r:container_file_t:s0:c3,c4"
)

// A disk is mounted with the label of its pods, and then the runtime does not relabel the files. What was left with another label is mounted
// again, unless a pod uses it.
func TestLabel(t *testing.T) {
	b := newFC(t, "sda")
	labeled := func(uid, label string) volume.Spec {
		s := b.fcSpec(uid, nil)
		s.SELinuxLabel = label
		return s
	}
	one := labeled("u1", labelA)
	if out, err := b.p.SetUp(t.Context(), one); err != nil || out.SELinuxRelabel {
		t.Errorf("%+v, %v", out, err)
	}
	const disk = "50060e801049cfd1-lun-0"
	if can, err := b.p.MountsWithLabel(t.Context(), one); !can || err != nil || b.p.SharedName(one) != disk {
		t.Errorf("%t, %v, %q", can, err, b.p.SharedName(one))
	}
	b.restart() // it forgets what pods use
	if shared, label := b.p.FoundLabel(one.Place); shared != disk || label != labelA {
		t.Errorf("found %q with %q", shared, label)
	}
	if _, err := b.p.SetUp(t.Context(), labeled("u2", labelB)); err == nil || !strings.Contains(err.Error(), "MountVolume.MountDevice failed: its disk is mounted with the SELinux label \""+labelA) {
		t.Errorf("another pod uses it with another label: %v", err)
	}
	b.restart()
	if err := b.cfg.Mounter.Unmount(one.Dir); err != nil { // the agent ended before it unmounted the disk
		t.Fatal(err)
	}
	two := labeled("u2", labelB)
	b.setUp(two)
	if _, label := b.p.FoundLabel(two.Place); label != labelB {
		t.Errorf("mounted with %q", label)
	}
	b.tearDown(two)
	three := labeled("u3", "")
	if out, err := b.p.SetUp(t.Context(), three); err != nil || !out.SELinuxRelabel {
		t.Errorf("%+v, %v", out, err)
	}
	if shared, label := b.p.FoundLabel(three.Place); shared != disk || label != "" {
		t.Errorf("found %q with %q", shared, label)
	}
	if shared, label := b.p.FoundLabel(b.fcSpec("u4", nil).Place); shared != "" || label != "" {
		t.Errorf("a volume that is not there: %q with %q", shared, label)
	}
}

// A label among the options of the PersistentVolume is as good for the next pod as for the first.
func TestLabelAmongMountOptions(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	for _, uid := range []string{"u1", "u2"} {
		s := b.asBlock(b.spec(uid, nil))
		s.Block, s.Dir = false, b.spec(uid, nil).Dir
		s.PV.Spec.MountOptions = []string{`context="` + labelA + `"`}
		b.setUp(s)
	}
}

// A portal may be written with its standard port or without: the disk has the same name when it is found after a restart.
func TestDiskHasOneName(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	s := b.spec("u1", nil)
	s.SELinuxLabel = labelA
	b.setUp(s)
	name := b.p.SharedName(s)
	b.restart()
	if shared, label := b.p.FoundLabel(s.Place); name == "" || shared != name || label != labelA {
		t.Errorf("%q is found as %q with %q", name, shared, label)
	}
	withPort := b.spec("u2", func(src *v1.ISCSIVolumeSource) { src.TargetPortal += ":3260" })
	if got := b.p.SharedName(withPort); got != name {
		t.Errorf("with the port: %q, want %q", got, name)
	}
}
