package selinux_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

func TestShare(t *testing.T) {
	needs := func(label string) selinux.Label {
		return selinux.Label{Mount: label, Needs: label, Driver: true, Enforced: true}
	}
	// wants is a pod that waits, has one that has the volume, goes one that is being unmounted.
	wants := func(label string, turn uint64) selinux.Use {
		return selinux.Use{Label: needs(label), Wanted: true, Turn: turn}
	}
	has := func(label string, turn uint64) selinux.Use {
		u := wants(label, turn)
		u.Present, u.Has = true, label
		return u
	}
	goes := func(label string) selinux.Use { return selinux.Use{Present: true, Has: label} }
	loose := func(u selinux.Use) selinux.Use {
		u.Enforced, u.Mount, u.Has = false, "", ""
		return u
	}
	incapable := func(u selinux.Use) selinux.Use {
		u.Driver, u.Mount, u.Needs = false, "", ""
		return u
	}
	for _, tc := range []struct {
		name   string
		own    selinux.Use
		others []selinux.Use
		want   selinux.Verdict
		by     int
	}{
		{"alone", wants("a", 1), nil, selinux.May, -1},
		{"the same label", wants("a", 2), []selinux.Use{has("a", 1)}, selinux.May, -1},
		{"another label", wants("b", 2), []selinux.Use{has("a", 1)}, selinux.Refused, 0},
		{"none, such as a recursive pod", wants("", 2), []selinux.Use{has("a", 1)}, selinux.Refused, 0},
		{"the other has none", wants("a", 2), []selinux.Use{has("", 1)}, selinux.Refused, 0},
		{"the other waits, too, and is first", wants("b", 2), []selinux.Use{wants("a", 1)}, selinux.Refused, 0},
		{"the other waits, too, and is later", wants("b", 1), []selinux.Use{wants("a", 2)}, selinux.May, -1},
		{"who has it is first, after a restart", wants("b", 1), []selinux.Use{has("a", 2)}, selinux.Refused, 0},
		{"who is refused holds up nobody", wants("a", 3), []selinux.Use{wants("b", 2), has("a", 1)}, selinux.May, -1},
		{"of several, the first", wants("c", 3), []selinux.Use{wants("b", 2), wants("a", 1)}, selinux.Refused, 1},
		{"is being unmounted", wants("b", 2), []selinux.Use{goes("a")}, selinux.Unmount, 0},
		{"is being unmounted, with this label", wants("a", 2), []selinux.Use{goes("a")}, selinux.May, -1},
		{"was found without a label", wants("a", 2), []selinux.Use{goes("")}, selinux.Unmount, 0},
		{"refused counts first", wants("b", 3), []selinux.Use{goes("a"), wants("c", 1)}, selinux.Refused, 1},
		{"the pod has it, with another one", has("b", 2), []selinux.Use{has("a", 1), goes("a")}, selinux.May, -1},
		{"another access mode", loose(wants("b", 2)), []selinux.Use{loose(has("a", 1))}, selinux.Differs, 0},
		{"another access mode, mounted with a label", loose(wants("b", 2)), []selinux.Use{goes("a")}, selinux.Unmount, 0},
		{"the driver cannot", incapable(wants("b", 2)), []selinux.Use{incapable(has("a", 1)), goes("")}, selinux.Unmount, 0},
		{"the driver cannot, and none is mounted", incapable(wants("b", 2)), []selinux.Use{incapable(wants("a", 1)), goes("")}, selinux.May, -1},
	} {
		if got, by := selinux.Share(tc.own, tc.others); got != tc.want || by != tc.by {
			t.Errorf("%s: got %d because of %d, want %d because of %d", tc.name, got, by, tc.want, tc.by)
		}
	}
}

func TestTexts(t *testing.T) {
	if got := selinux.Conflict("pv", "a", "").Error(); got != `conflicting SELinux labels of volume pv: "a" and ""` {
		t.Error(got)
	}
	want := `waiting for unmount of volume "kubernetes.io/csi/d^h", because it is already mounted to a different pod with a different SELinux label`
	if got := selinux.Mounted("kubernetes.io/csi/d^h").Error(); got != want {
		t.Error(got)
	}
}
