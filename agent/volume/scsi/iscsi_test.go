package scsi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	globalDir = "/root/plugins/kubernetes.io/iscsi/iface-default/192.0.2.1:3260-iqn.2003-01.com.example:disk-lun-0"
	node      = "iscsiadm -m node -p 192.0.2.1:3260 -T iqn.2003-01.com.example:disk"
	db        = "iscsiadm -m discoverydb -t sendtargets -p 192.0.2.1:3260 -I default"
)

// The command lines and the layout are upstream's: pkg/volume/iscsi/iscsi_util.go.
func TestLife(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	one, two := b.spec("u1", nil), b.spec("u2", nil)
	out, err := b.p.SetUp(t.Context(), one)
	if err != nil || out.HostPath != one.Dir || out.ReadOnly || !out.SELinuxRelabel {
		t.Fatalf("%+v, %v", out, err)
	}
	b.expect("iscsiadm -m iface -I default -o show", db+" -o new", db+" --discover", node+" -I default -o update -n node.session.scan -v manual",
		node+" -I default --login", node+" -o update -n node.startup -v manual")
	if got := b.read("sys/class/scsi_host/host1/scan"); got != "0 0 0" {
		t.Errorf("scan %q", got)
	}
	want := `{"VolName":"vol","Portals":["192.0.2.1:3260"],"Iqn":"iqn.2003-01.com.example:disk","Lun":"0","InitIface":"default","Iface":"default","InitiatorName":"","MetricsProvider":null}` + "\n"
	if got := b.read(globalDir + "/iscsi.json"); got != want {
		t.Errorf("record %s", got)
	}
	b.setUp(one)
	b.setUp(two)
	b.expect()
	if diff := cmp.Diff([]string{"/dev/sdax " + globalDir, "/dev/sdax /root/pods/u1/volumes/kubernetes.io~iscsi/vol", "/dev/sdax /root/pods/u2/volumes/kubernetes.io~iscsi/vol"}, b.mounted()); diff != "" {
		t.Error(diff)
	}
	b.tearDown(one)
	b.tearDown(one)
	b.expect()
	b.tearDown(two)
	b.expect("blockdev --flushbufs /dev/sdax", node+" --logout -I default", node+" -o delete -I default")
	b.gone("after the last pod")
	var told []string
	for _, c := range tracetest.Events[trace.CSICall](b.rec) {
		if c.Code != "" || c.Err != "" {
			told = append(told, c.Driver+" "+c.Method+" "+c.Volume+" "+c.Code)
		}
		if !c.Program || c.Flex {
			t.Errorf("%+v", c)
		}
	}
	if got := strings.Join(told, "\n"); !strings.Contains(got, "iscsiadm login vol OK") || !strings.Contains(got, "iscsiadm logout vol OK") {
		t.Errorf("records %q", told)
	}
}

// Several portals: the disk has a path through each, and the multipath device is used and removed.
func TestMultipath(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	b.write("script-iscsiadm", `case "$*" in *192.0.2.2*--login) mkdir -p $B/sys/block/dm-0/dm $B/sys/block/dm-0/slaves/sdax $B/sys/block/dm-0/slaves/sdbx
		mkdir -p $B/sys/block/sdax/holders/dm-0 $B/sys/block/sdbx/holders/dm-0; echo mpath-1 > $B/sys/block/dm-0/dm/uuid; : > $B/dev/dm-0;; esac`)
	s := b.spec("u", func(s *v1.ISCSIVolumeSource) { s.Portals = []string{second, "192.0.2.1"} })
	b.setUp(s)
	if got := b.mounted(); len(got) != 2 || !strings.HasPrefix(got[0], "/dev/dm-0 ") || b.sessions() != 2 {
		t.Errorf("mounted %q, %d sessions", got, b.sessions())
	}
	b.calls()
	b.write("script-blockdev", `rm -rf $B/sys/block/sd??/holders/dm-0`)
	b.tearDown(s)
	got := b.calls()
	if len(got) != 7 || got[0] != "multipath -f /dev/dm-0" || got[1] != "blockdev --flushbufs /dev/sdax" || got[2] != "blockdev --flushbufs /dev/sdbx" {
		t.Errorf("%q", got)
	}
	b.gone("multipath")
}

// One of two portals does not answer: the volume is mounted through the other one.
func TestOnePortalFails(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	b.write("script-iscsiadm", `case "$*" in *192.0.2.2*--login) echo 'iscsiadm: initiator reported error (8 - connection timed out)' >&2; exit 8;; esac`)
	s := b.spec("u", func(s *v1.ISCSIVolumeSource) { s.Portals = []string{second} })
	b.setUp(s)
	logins := 0
	for _, c := range b.calls() {
		if strings.HasSuffix(c, "--login") {
			logins++
		}
	}
	if logins != 1+maxAttempts || b.sessions() != 1 {
		t.Errorf("%d logins, %d sessions", logins, b.sessions())
	}
	b.tearDown(s)
	b.gone("one portal")
}

// What goes wrong is said, with the portal, and nothing is left after the pod.
func TestFailures(t *testing.T) {
	const at = "no portal of target " + iqn + " has a path to the disk: "
	for what, tc := range map[string]struct{ script, want string }{
		"login":      {`case "$*" in *--login) echo 'iscsiadm: Could not login' >&2; echo 'why not' >&2; exit 19;; esac`, at + "iscsiadm: login " + portal + ": exit status 19: iscsiadm: Could not login why not"},
		"discovery":  {`case "$*" in *--discover) echo 'no route' ; exit 4;; esac`, at + "iscsiadm: discover " + portal + ": exit status 4: no route"},
		"no session": {`case "$*" in *--login) exit 0;; esac`, at + "iscsiadm has logged in to portal " + portal + ", but SYS/class/iscsi_host has no session with it"},
		"no device":  {`: > $B/no-links`, at + "the device ip-" + portal + "-iscsi-" + iqn + "-lun-0 in DEV/disk/by-path has not appeared within 200ms"},
		"interface":  {`case "$*" in *show) echo 'iscsiadm: no interface' >&2; exit 21;; esac`, "iscsiadm: show interface default: exit status 21: iscsiadm: no interface"},
		"transport":  {`: > $B/interface`, "interface default: iscsiadm prints no iface.transport_name"},
		"garbage":    {`echo iface.x > $B/interface`, `interface default: iscsiadm prints "iface.x": want a line such as iface.mtu = 0`},
		"endless":    {`case "$*" in *--discover) yes;; esac`, at + "iscsiadm: discover " + portal + ": its response on stdout is longer than 1048576 bytes: "},
		"missing":    {"", "iscsiadm: show interface default: the program is not installed on the node, or is not in the agent's PATH"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, NewISCSI, nil)
			b.write("script-iscsiadm", tc.script)
			if tc.script == "" {
				if err := os.Remove(b.path("bin/iscsiadm")); err != nil {
					t.Fatal(err)
				}
			}
			s := b.spec("u", nil)
			_, err := b.p.SetUp(t.Context(), s)
			want := "MountVolume.WaitForAttach failed: " + strings.NewReplacer("SYS", b.cfg.Sys, "DEV", b.cfg.Dev).Replace(tc.want)
			if err == nil || !strings.HasPrefix(err.Error(), want) || trace.Classify(err.Error()) != "" {
				t.Errorf("%v\nwant %s", err, want)
			}
			b.tearDown(s)
			b.gone(what)
		})
	}
}

// A program that hangs ends at its deadline.
func TestHangs(t *testing.T) {
	b := newBench(t, NewISCSI, func(c *Config) { c.Patience = 1e9 })
	b.write("script-iscsiadm", `case "$*" in *--login) sleep 1000;; esac`)
	if err := b.trySetUp(b.spec("u", nil)); err == nil || !strings.Contains(err.Error(), "login "+portal+": no response within 1s") {
		t.Error(err)
	}
}

// The secrets of CHAP are given to iscsiadm, and are in no error and no event, also if it prints them.
func TestCHAP(t *testing.T) {
	const password = "p"
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "chap"}, Data: map[string][]byte{}}
	for _, key := range append(keysOf("discovery.sendtargets")[:1:1], keysOf("node.session")...) {
		secret.Data[key] = []byte(password + key[len(key)-4:])
	}
	b := newBench(t, NewISCSI, func(c *Config) { c.API = fakeapi.Of(fake.NewClientset(secret)).CoreV1() })
	chap := func(name string) volume.Spec {
		return b.spec("u", func(s *v1.ISCSIVolumeSource) {
			s.DiscoveryCHAPAuth, s.SessionCHAPAuth, s.SecretRef = true, true, &v1.LocalObjectReference{Name: name}
		})
	}
	b.setUp(chap("chap"))
	b.expect("iscsiadm -m iface -I default -o show", db+" -o new", db+" -o update -n discovery.sendtargets.auth.authmethod -v CHAP",
		db+" -o update -n discovery.sendtargets.auth.username -v pname", db+" --discover", node+" -I default -o update -n node.session.scan -v manual",
		node+" -I default -o update -n node.session.auth.authmethod -v CHAP",
		node+" -I default -o update -n node.session.auth.username -v pname", node+" -I default -o update -n node.session.auth.password -v pword",
		node+" -I default -o update -n node.session.auth.username_in -v pe_in", node+" -I default -o update -n node.session.auth.password_in -v pd_in",
		node+" -I default --login", node+" -o update -n node.startup -v manual")
	b.tearDown(chap("chap"))
	b.write("script-iscsiadm", `case "$*" in *auth.password*) echo "bad value $*"; exit 7;; esac`)
	err := b.trySetUp(chap("chap"))
	if err == nil || !strings.HasSuffix(err.Error(), "iscsiadm: set node.session.auth.password "+portal+": exit status 7") {
		t.Error(err)
	}
	for _, e := range tracetest.Events[trace.CSICall](b.rec) {
		if strings.Contains(fmt.Sprintf("%+v", e), "pword") {
			t.Errorf("a secret: %+v", e)
		}
	}
	if err := b.trySetUp(chap("none")); err == nil || !strings.Contains(err.Error(), `couldn't get secret ns/none error: secrets "none" not found`) {
		t.Error(err)
	}
}

// With an initiator name, a copy of the interface is used, and deleted at the end.
func TestInitiatorName(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	s := b.spec("u", func(s *v1.ISCSIVolumeSource) { s.InitiatorName = new("iqn.2003-01.com.example:node") })
	b.setUp(s)
	const iface = "iscsiadm -m iface -I 192.0.2.1:3260:vol"
	got := b.calls()
	want := []string{"iscsiadm -m iface -I default -o show", iface + " -o new", iface + " -o update -n iface.initiatorname -v iqn.2003-01.com.example:node", iface + " -o update -n iface.mtu -v 0", iface + " -o update -n iface.transport_name -v tcp"}
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(b.path("root/plugins/kubernetes.io/iscsi/iface-192.0.2.1:3260:vol")); err != nil {
		t.Error(err)
	}
	b.tearDown(s)
	if got := b.calls(); got[len(got)-1] != iface+" -o delete" {
		t.Errorf("%q", got)
	}
}

// Two LUNs of a target share its session, which ends with the last one.
func TestSharedSession(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	one := b.spec("u1", nil)
	two := b.spec("u2", func(s *v1.ISCSIVolumeSource) { s.Lun = 1 })
	b.setUp(one)
	b.setUp(two)
	if b.sessions() != 1 {
		t.Fatalf("%d sessions", b.sessions())
	}
	b.calls()
	b.tearDown(one)
	b.expect("blockdev --flushbufs /dev/sdax")
	if got := b.read("sys/block/sdax/device/delete"); got != "1" {
		t.Errorf("delete %q", got)
	}
	if got := b.read("sys/block/sday/device/delete"); got != "" {
		t.Errorf("the other disk is deleted: %q", got)
	}
	b.restart()
	b.tearDown(two)
	b.gone("both")
}

// A disk that something else uses stays, and so does its session.
func TestBusy(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	s := b.spec("u", nil)
	b.setUp(s)
	b.write("sys/block/sdax/holders/dm-7/x", "")
	b.write("sys/block/dm-7/dm/uuid", "LVM-x\n")
	err := b.tryTearDown(s)
	if busy, ok := errors.AsType[*BusyError](err); !ok || busy.Device != "sdax" || busy.By != "dm-7" || b.sessions() != 1 {
		t.Errorf("%v, %d sessions", err, b.sessions())
	}
	if err := b.p.Clean(t.Context()); err == nil || b.sessions() != 1 {
		t.Errorf("%v, %d sessions", err, b.sessions())
	}
	// Beside another operation on the disk, the attempt has not succeeded.
	all, err := b.p.globals(false)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	give, _ := b.p.locks.Try(all[0])
	ended, end := context.WithCancel(t.Context())
	end()
	if err := b.left[s.Dir](ended); !errors.Is(err, context.Canceled) {
		t.Errorf("beside another operation: %v", err)
	}
	give()
	if err := os.RemoveAll(b.path("sys/block/sdax/holders/dm-7")); err != nil {
		t.Fatal(err)
	}
	if err := b.kernel.Mount(b.path("dev/sdax1"), b.path("mnt"), "ext4", nil); err != nil {
		t.Fatal(err)
	}
	b.write("dev/sdax1", "")
	if err := b.tryTearDown(s); err == nil || !strings.Contains(err.Error(), "the disk sdax is still used by "+b.path("mnt")) {
		t.Error(err)
	}
	if err := b.kernel.Unmount(b.path("mnt")); err != nil {
		t.Fatal(err)
	}
	// Root uses another LUN of the session.
	if err := b.kernel.Mount(b.path("dev/sday"), b.path("mnt"), "ext4", nil); err != nil {
		t.Fatal(err)
	}
	b.tearDown(s)
	if b.sessions() != 1 || b.read("sys/block/sday/device/delete") != "" {
		t.Error("root's session has ended")
	}
}

// After an interruption at any step, the next agent either sets the volume up or removes all of it.
func TestInterrupted(t *testing.T) {
	for _, block := range []bool{false, true} {
		for _, ends := range []bool{false, true} { // whether the pod's end is interrupted, or its start
			for n := 0; ; n++ {
				what := fmt.Sprintf("block %t, ends %t, after %d steps", block, ends, n)
				b := newBench(t, NewISCSI, nil)
				s := b.spec("u", nil)
				if !block && ends {
					s = b.spec("u", func(s *v1.ISCSIVolumeSource) { s.InitiatorName = new("iqn.2003-01.com.example:node") })
				}
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
				done := b.read("budget") != "0\n"
				b.budget(-1)
				b.restart()
				if !ends {
					if again := b.trySetUp(s); again != nil {
						t.Fatalf("%s (%v): %v", what, err, again)
					}
					b.restart()
				}
				if again := b.tryTearDown(s); again != nil {
					t.Errorf("%s (%v): %v", what, err, again)
				}
				if again := errors.Join(os.RemoveAll(filepath.Dir(s.Dir)), b.p.Clean(t.Context())); again != nil {
					t.Errorf("%s (%v): %v", what, err, again)
				}
				b.gone(what)
				if done {
					break
				}
			}
		}
	}
}

// The pod is deleted after an interruption of its start: the next agent has only the directories.
func TestOrphaned(t *testing.T) {
	for n := range 14 {
		b := newBench(t, NewISCSI, nil)
		s := b.spec("u", nil)
		b.budget(n)
		err := b.trySetUp(s)
		b.budget(-1)
		b.restart()
		if again := errors.Join(b.tryTearDown(s), b.p.Clean(t.Context())); again != nil {
			t.Errorf("after %d steps (%v): %v", n, err, again)
		}
		b.gone(fmt.Sprintf("after %d steps", n))
	}
}

// A record that cannot be read: the directory's name says what to log out from.
func TestSpoiltRecord(t *testing.T) {
	for what, text := range map[string]string{"empty": "", "garbage": "{", "hostile": `{"Portals":["-x"],"Iqn":"iqn.x","Lun":"0","Iface":"a"}`, "path": `{"Portals":["a"],"Iqn":"iqn.2003-01.x:../y","Lun":"0","Iface":"a"}`} {
		b := newBench(t, NewISCSI, nil)
		s := b.spec("u", nil)
		b.setUp(s)
		b.write(globalDir+"/iscsi.json", text)
		b.restart()
		b.tearDown(s)
		b.gone(what)
	}
}

// Upstream's kubelet has set the volume up: its directory is found by what is mounted.
func TestUpstreamsVolume(t *testing.T) {
	b := newBench(t, NewISCSI, func(c *Config) {
		c.Attached = func(name v1.UniqueVolumeName) (string, bool) {
			return "", name == "kubernetes.io/iscsi/192.0.2.1:iqn.2003-01.com.example:disk:0"
		}
	})
	s := b.spec("u", nil)
	b.setUp(s)
	b.restart()
	if got := b.p.FoundName(s.Place); got != "kubernetes.io/iscsi/192.0.2.1:iqn.2003-01.com.example:disk:0" {
		t.Error(got)
	}
	if got, err := b.p.AttachName(t.Context(), s); err != nil || got != b.p.FoundName(s.Place) {
		t.Error(got, err)
	}
	b.tearDown(s)
	b.gone("found")
}

func TestBlock(t *testing.T) {
	b := newBench(t, NewISCSI, nil)
	one, two := b.asBlock(b.spec("u1", nil)), b.asBlock(b.spec("u2", nil))
	b.setUp(one)
	b.setUp(two)
	const dir = "root/plugins/kubernetes.io/iscsi/volumeDevices/iface-default/192.0.2.1:3260-iqn.2003-01.com.example:disk-lun-0"
	if diff := cmp.Diff([]string{"iscsi.json", "u1", "u2"}, b.files(dir)); diff != "" {
		t.Error(diff)
	}
	if to, err := os.Readlink(one.Dir); err != nil || to != b.path("dev/sdax") {
		t.Error(to, err)
	}
	b.restart()
	b.setUp(two) // adopted
	b.calls()
	b.tearDown(one)
	b.expect()
	b.tearDown(two)
	b.expect("blockdev --flushbufs /dev/sdax", node+" --logout -I default", node+" -o delete -I default")
	b.gone("block")
}
