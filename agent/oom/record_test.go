package oom

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseRecord(t *testing.T) {
	for _, c := range []struct {
		record, text string
		at           time.Duration
		ok           bool
	}{
		{"3,3362,3273965699,-;Out of memory\n", "Out of memory", 3273965699 * time.Microsecond, true},
		{"6,1,5,-,caller=T1;a;b\n SUBSYSTEM=net\n DEVICE=x\n", "a;b", 5 * time.Microsecond, true},
		{"7,1,0,c;", "", 0, true},
		{"12,1,5,-;Out of memory: Killed process 1 (x) total-vm:1kB\n", "", 0, false}, // a process wrote it
		{"6,1,5;text", "", 0, false},
		{"6,1,-5,-;text", "", 0, false},
		{"6,1,9223372036854775807,-;text", "", 0, false},
		{"x,1,5,-;text", "", 0, false},
		{"6,1,5,-", "", 0, false},
		{"", "", 0, false},
	} {
		m, ok := parseRecord([]byte(c.record))
		if ok != c.ok || string(m.text) != c.text || m.at != c.at {
			t.Errorf("%q: %q, %s, %v", c.record, m.text, m.at, ok)
		}
	}
}

func TestPlaces(t *testing.T) {
	const other = "0a1b2c3d-7f0a-4e2f-9c1d-0a1b2c3d4e5f"
	for cgroup, want := range map[string][]place{
		tier + "/" + cid: {{uid, cid}}, tier: {{uid: uid}}, tier + "/crio-" + cid: {{uid, cid}}, tier + "/" + cid + "/init.scope": {{uid, cid}},
		unit + "/cri-containerd-" + cid + ".scope": {{uid, cid}}, unit + "/crio-" + cid + ".scope/a": {{uid, cid}},
		"/kubepods/pod" + other + "/x" + tier + "/" + cid: {{uid, cid}, {other, "x"}},
		"/kubepods.slice/kubepods-pod3b5c9f52.slice":      {{uid: "3b5c9f52"}},
		"/": nil, "": nil, "/system.slice/podman.service": {{uid: "man.service"}}, "/pod": {}, "/a.slice/b": nil,
	} {
		got := places(cgroup)
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", cgroup, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", cgroup, got, want)
			}
		}
	}
}

// FuzzFold: whatever the kernel log has, a kill has a process, its id, a clean cgroup and no control characters of its own.
func FuzzFold(f *testing.F) {
	for _, c := range conditions {
		f.Add(c.lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		for _, e := range folded(lines) {
			switch {
			case e.PID <= 0, e.RSS < 0, e.Constraint == "" && e.Limited != "/" && e.Cgroup == "":
				t.Errorf("%+v", e)
			case !utf8.ValidString(e.Cgroup) || !utf8.ValidString(e.Limited), len(e.Cgroup) > maxPath, e.Cgroup != "" && e.Cgroup[0] != '/':
				t.Errorf("%+v", e)
			}
			places(e.Cgroup)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("3,3362,3273965699,-;Out of memory\n K=V\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := parseRecord(b); ok && (m.at < 0 || len(m.text) > len(b)) {
			t.Errorf("%q: %+v", b, m)
		}
	})
}
