package scsi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// Hostile and wrong sources: the error names the field, and nothing is run or created.
func TestRefused(t *testing.T) {
	type iscsi = v1.ISCSIVolumeSource
	long := strings.Repeat("x", 300)
	for _, tc := range []struct {
		edit func(*iscsi)
		want string
	}{
		{func(s *iscsi) { s.TargetPortal = "" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "../../etc" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "a/b" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "--help" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "a b" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "a\n" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = "a*" }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.TargetPortal = long }, "iscsi.targetPortal"},
		{func(s *iscsi) { s.Portals = []string{"ok", "x/../y"} }, "iscsi.portals"},
		{func(s *iscsi) { s.Portals = make([]string, 1000) }, "iscsi.portals has 1000 entries: want at most 64"},
		{func(s *iscsi) { s.IQN = "" }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "disk" }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "iqn.2003-01.com.example:a/../../b" }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "iqn.2003-01.com.example:.." }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "iqn.2003-01.com.example:*" }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "iqn." + long }, "iscsi.iqn"},
		{func(s *iscsi) { s.IQN = "iqn." + long[:210]; s.TargetPortal = long[:60] }, "iscsi.targetPortal and iscsi.iqn: the name of the volume's directory would have"},
		{func(s *iscsi) { s.Lun = -1 }, "iscsi.lun -1"},
		{func(s *iscsi) { s.Lun = 256 }, "iscsi.lun 256"},
		{func(s *iscsi) { s.ISCSIInterface = "../x" }, "iscsi.iscsiInterface"},
		{func(s *iscsi) { s.ISCSIInterface = "-x" }, "iscsi.iscsiInterface"},
		{func(s *iscsi) { s.InitiatorName = new("iqn.x/y") }, "iscsi.initiatorName"},
		{func(s *iscsi) { s.FSType = "x/../../tmp/evil" }, "iscsi.fsType"},
		{func(s *iscsi) { s.FSType = "-o" }, "iscsi.fsType"},
	} {
		b := newBench(t, NewISCSI, nil)
		s := b.spec("u", tc.edit)
		b.refuses(s.Volume.VolumeSource, tc.want)
	}
	type fc = v1.FCVolumeSource
	for _, tc := range []struct {
		edit func(*fc)
		want string
	}{
		{func(s *fc) { s.TargetWWNs = nil }, "fc: must have targetWWNs and lun, or wwids"},
		{func(s *fc) { s.Lun = nil }, "fc: must have targetWWNs and lun, or wwids"},
		{func(s *fc) { s.Lun = new(int32(-1)) }, "fc.lun -1"},
		{func(s *fc) { s.TargetWWNs = []string{"../x"} }, "fc.targetWWNs"},
		{func(s *fc) { s.TargetWWNs = []string{"a-b"} }, "fc.targetWWNs"},
		{func(s *fc) { s.TargetWWNs = []string{"(a+)+$"} }, "fc.targetWWNs"},
		{func(s *fc) { s.TargetWWNs = make([]string, 100) }, "fc.targetWWNs has 100 entries"},
		{func(s *fc) { s.TargetWWNs = []string{long[:60], long[:60], long[:60], long[:60], long[:60]} }, "fc.targetWWNs or fc.wwids: the name of the volume's directory would have"},
		{func(s *fc) { s.TargetWWNs, s.WWIDs = nil, []string{".."} }, "fc.wwids"},
		{func(s *fc) { s.TargetWWNs, s.WWIDs = nil, []string{"."} }, "fc.wwids"},
		{func(s *fc) { s.TargetWWNs, s.WWIDs = nil, []string{"a/b"} }, "fc.wwids"},
		{func(s *fc) { s.TargetWWNs, s.WWIDs = nil, []string{"volumeDevices"} }, `fc.wwids "volumeDevices"`},
		{func(s *fc) { s.FSType = "a b" }, "fc.fsType"},
	} {
		b := newBench(t, NewFC, nil)
		b.refuses(b.fcSpec("u", tc.edit).Volume.VolumeSource, tc.want)
	}
}

func (b *bench) refuses(src v1.VolumeSource, want string) {
	b.t.Helper()
	for _, block := range []bool{false, true} {
		s := b.place("u", src)
		if block {
			s = b.asBlock(s)
		}
		_, err := b.p.Version(s)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			b.t.Errorf("%v, want %s", err, want)
		}
		if again := b.trySetUp(s); again == nil || again.Error() != err.Error() {
			b.t.Errorf("SetUp: %v", again)
		}
	}
	if files := b.files("root"); len(b.calls()) > 0 || len(files) != 1 {
		b.t.Errorf("created %q", files)
	}
}

func TestGlobalNames(t *testing.T) {
	for name, want := range map[string]record{
		"iface-default/192.0.2.1:3260-iqn.2003-01.com.example:disk-lun-0":    {Portals: []string{"192.0.2.1:3260"}, Iqn: "iqn.2003-01.com.example:disk", Lun: "0", InitIface: "default", Iface: "default"},
		"iface-default/storage-1.example:3260-eui.02004567A425678D-lun-15":   {Portals: []string{"storage-1.example:3260"}, Iqn: "eui.02004567A425678D", Lun: "15", InitIface: "default", Iface: "default"},
		"iface-[2001:db8::1]:3260:pv/[2001:db8::1]:3260-iqn.x:a-lun-1-lun-2": {Portals: []string{"[2001:db8::1]:3260"}, Iqn: "iqn.x:a-lun-1", Lun: "2", InitIface: "[2001:db8::1]:3260:pv", Iface: "[2001:db8::1]:3260:pv"},
		"other/192.0.2.1:3260-iqn.x:y-lun-0":                                 {},
		"iface-default/192.0.2.1:3260-iqn.x:y-lun-":                          {},
		"iface-default/192.0.2.1:3260-iqn.x:y-lun-256":                       {},
		"iface-default/192.0.2.1:3260-iqn.x:..-lun-0":                        {},
		"iface-default/192.0.2.1:3260":                                       {},
		"iface--x/192.0.2.1:3260-iqn.x:y-lun-0":                              {},
	} {
		got, ok := named("/root/plugins/kubernetes.io/iscsi/" + name)
		if ok != (want.Iqn != "") || ok && cmp.Diff(want, got) != "" {
			t.Errorf("%s: %t, %s", name, ok, cmp.Diff(want, got))
		}
		if ok && got.dir() != name {
			t.Errorf("%s: back %s", name, got.dir())
		}
	}
	for name, want := range map[string]string{
		"50060e801049cfd1-lun-0": "[50060e801049cfd1]:0", "a-b-lun-2": "[a b]:2", wwid: "[" + wwid + "]", "a-b": "[a b]",
		"volumeDevices": "", "a-lun-300": "", "lun-0": "[lun 0]", "..": "", "a*-lun-0": "",
	} {
		if got := (fibre{}).unique("/x/" + name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Names are as upstream's: pkg/volume/iscsi GetVolumeName, pkg/volume/fc GetVolumeName.
func TestUniqueNames(t *testing.T) {
	attached := func(c *Config) { c.Attached = func(v1.UniqueVolumeName) (string, bool) { return "", true } }
	b := newBench(t, NewISCSI, attached)
	if got, err := b.p.AttachName(t.Context(), b.spec("u", nil)); got != "kubernetes.io/iscsi/192.0.2.1:"+iqn+":0" || err != nil {
		t.Error(got, err)
	}
	b = newBench(t, NewFC, attached)
	if got, err := b.p.AttachName(t.Context(), b.fcSpec("u", func(s *v1.FCVolumeSource) { s.TargetWWNs = []string{"a", "b"} })); got != "kubernetes.io/fc/[a b]:0" || err != nil {
		t.Error(got, err)
	}
	if got, err := b.p.AttachName(t.Context(), b.fcSpec("u", func(s *v1.FCVolumeSource) { s.Lun, s.WWIDs = nil, []string{"V 1"} })); got != "kubernetes.io/fc/[V 1]" || err != nil {
		t.Error(got, err)
	}
}

func TestOutput(t *testing.T) {
	for out, want := range map[string]string{
		"iface.transport_name = tcp\n": "tcp", "# x\niface.transport_name = bnx2i\r\n": "bnx2i", "iface.transport_name = <empty>": "tcp", "": "", "x iface.transport_name = tcp": "",
	} {
		if got, err := transportOf(out); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", out, got, err)
		}
	}
	got, err := settingsOf("# BEGIN\niface.iscsi_ifacename = a\niface.mtu = 0\niface.hwaddress = <empty>\nother\n")
	if diff := cmp.Diff(map[string]string{"iface.mtu": "0"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, out := range []string{"iface.mtu", "iface.mtu = 1 2", "iface.mtu : 0"} {
		if _, err := settingsOf(out); err == nil {
			t.Errorf("%q is accepted", out)
		}
	}
}

// Sessions of a kernel: both addresses of a connection count, and what is not a session does not.
func TestSessions(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	const host = "sys/class/iscsi_host/host3/device/session7"
	for path, text := range map[string]string{
		host + "/iscsi_session/session7/targetname":                                         iqn + "\n",
		host + "/connection7:0/iscsi_connection/connection7:0/address":                      "2001:db8::1\n",
		host + "/connection7:0/iscsi_connection/connection7:0/port":                         "3260\n",
		host + "/connection7:0/iscsi_connection/connection7:0/persistent_port":              "3261\n",
		host + "/connection7:0/iscsi_connection/connection7:0/persistent_address":           "storage.example\n",
		host + "/target3:0:0/3:0:0:5/block/sdq/size":                                        "1",
		host + "/target3:0:0/3:0:0:5/block/../vendor":                                       "x",
		"sys/class/iscsi_host/host3/device/session8/iscsi_session/session8/targetname":      "iqn.x:other",
		"sys/class/iscsi_host/hostx/device/session1/iscsi_session/session1/targetname":      iqn,
		"sys/class/iscsi_host/host4/device/power/control":                                   "on",
		"sys/class/iscsi_host/host5/device/session9/iscsi_session/session9/targetname/huge": "",
	} {
		b.write(path, text)
	}
	all, err := b.p.sessions(iqn)
	if err != nil || len(all) != 1 || all[0].host != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if diff := cmp.Diff([]string{"[2001:db8::1]:3260", "storage.example:3261"}, all[0].portals); diff != "" {
		t.Error(diff)
	}
	luns, err := all[0].luns()
	if diff := cmp.Diff(map[string]string{"5": "sdq"}, luns); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
