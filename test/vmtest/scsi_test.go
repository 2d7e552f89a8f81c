package vmtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// lio is where the kernel has its targets.
	lio = "/sys/kernel/config/target"
	// exportFile makes a file of 64 MiB a disk of the kernel's target code: its arguments are the disk's name and its serial number.
	exportFile = `
set -e
modprobe -a target_core_mod target_core_file iscsi_target_mod tcm_loop
truncate -s 64M /data/%[1]s.img
mkdir -p ` + lio + `/core/fileio_0/%[1]s ` + lio + `/iscsi ` + lio + `/loopback
cd ` + lio + `/core/fileio_0/%[1]s
echo fd_dev_name=/data/%[1]s.img,fd_dev_size=67108864 > control
echo %[2]s > wwn/vpd_unit_serial
echo 1 > enable`
	// sessions prints the sessions of the node's initiator, and the disks that it has by them.
	sessions = "{ iscsiadm -m session; ls /dev/disk/by-path | grep iscsi; grep iscsi /proc/self/mountinfo; } 2>/dev/null; true"
)

// target has the node export a disk as LUN 0 of an iSCSI target, at two portals of its own. With a password, the user of CHAP is "chap-user".
func (b *bench) target(t *testing.T, name, password string) (iqn string) {
	t.Helper()
	iqn = "iqn.2026-11.test.kubeloupe:" + name
	group := lio + "/iscsi/" + iqn + "/tpgt_1"
	authenticates := 0
	if password != "" {
		authenticates = 1
	}
	b.later(t, fmt.Sprintf("iscsiadm -m node -T %[1]s -u; iscsiadm -m node -T %[1]s -o delete; cd %[2]s && echo 0 > enable && rm lun/lun_0/disk && rmdir np/* lun/lun_0 && cd / && rmdir %[2]s %[3]s && rmdir %[4]s && rm /data/%[5]s.img",
		iqn, group, lio+"/iscsi/"+iqn, lio+"/core/fileio_0/"+name, name))
	b.Run(t, fmt.Sprintf(exportFile, name, "11111111-2222-3333-4444-"+fmt.Sprintf("%012x", len(name)))+fmt.Sprintf(`
mkdir -p %[1]s/lun/lun_0 %[1]s/np/127.0.0.1:3260 %[1]s/np/10.0.2.15:3260
cd %[1]s
ln -s %[2]s lun/lun_0/disk
echo 1 > attrib/generate_node_acls
echo 1 > attrib/cache_dynamic_acls
echo 0 > attrib/demo_mode_write_protect
echo %[3]d > attrib/authentication
if [ %[3]d = 1 ]; then printf chap-user > auth/userid; printf %[4]s > auth/password; fi
echo 1 > enable`, group, lio+"/core/fileio_0/"+name, authenticates, password))
	return iqn
}

// onDisk is a pod with a volume at /disk.
func onDisk(source string) string {
	return spec("volumes: [{name: disk, "+source+"}]", "volumeMounts: [{name: disk, mountPath: /disk}]")
}

// ends deletes a pod, and waits until the node has no session and no disk of a target any more.
func (b *bench) ends(t *testing.T, pod string) {
	t.Helper()
	if out, err := b.Kubectl(t.Context(), "delete", "pod", pod, "--timeout", "5m"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	vmbench.Eventually(t, "the end of the sessions", func() string { return b.Run(t, sessions) })
}

// TestISCSI has the kernel of the node export disks, and pods use them by open-iscsi: a disk is formatted once and keeps what is on it, a
// restart of the agent and a takeover by another one change nothing, and with the last pod the session ends.
func TestISCSI(t *testing.T) {
	b := setup(t)
	iqn := b.target(t, "plain", "")
	source := "iscsi: {targetPortal: 127.0.0.1, iqn: \"" + iqn + "\", lun: 0, fsType: ext4}"
	t.Run("a new disk", func(t *testing.T) {
		b.start(t, map[string]string{"iscsi-new": onDisk(source)})
		if got := b.within(t, b.pod(t, "iscsi-new"), "web", "echo kept > /disk/file; sync; grep -o \" /disk ext4\" /proc/mounts"); got != "/disk ext4" {
			t.Errorf("the volume is %q", got)
		}
		if got := b.Run(t, "iscsiadm -m session"); strings.Count(got, iqn) != 1 || !strings.Contains(got, "127.0.0.1:3260") {
			t.Errorf("sessions: %s", got)
		}
		check := b.stays(t, "iscsi-new")
		before := b.Run(t, pidOf)
		b.Run(t, "systemctl kill -s KILL kubeloupe")
		b.restarted(t, before)
		check(t)
		b.ends(t, "iscsi-new")
	})
	t.Run("the disk again for two pods", func(t *testing.T) {
		ro := strings.Replace(source, "fsType", "readOnly: true, fsType", 1)
		b.start(t, map[string]string{"iscsi-again": onDisk(ro), "iscsi-other": onDisk(ro)})
		for _, name := range []string{"iscsi-again", "iscsi-other"} {
			if got := b.within(t, b.pod(t, name), "web", "cat /disk/file; touch /disk/new 2>&1"); !strings.HasPrefix(got, "kept\n") || !strings.Contains(got, "Read-only file system") {
				t.Errorf("%s: %q", name, got)
			}
		}
		if out, err := b.Kubectl(t.Context(), "delete", "pod", "iscsi-again", "--timeout", "5m"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := b.within(t, b.pod(t, "iscsi-other"), "web", "cat /disk/file"); got != "kept" {
			t.Errorf("after the end of the other pod: %q", got)
		}
		b.ends(t, "iscsi-other")
	})
	t.Run("two portals", func(t *testing.T) {
		two := strings.Replace(source, "targetPortal", "portals: [\"10.0.2.15\"], targetPortal", 1)
		b.start(t, map[string]string{"iscsi-two": onDisk(two)})
		if got := b.Run(t, "iscsiadm -m session"); strings.Count(got, iqn) != 2 || !strings.Contains(got, "10.0.2.15:3260") {
			t.Errorf("sessions: %s", got)
		}
		b.ends(t, "iscsi-two")
	})
	t.Run("each agent ends what the other began", func(t *testing.T) {
		// Without the port, upstream's kubelet does not know its volume again after a restart: it ends the session of a pod that runs.
		port := strings.Replace(source, "127.0.0.1", "\"127.0.0.1:3260\"", 1)
		for _, to := range []node.Agent{node.Kubelet, node.Kubeloupe} {
			name := "iscsi-to-" + string(to)
			b.start(t, map[string]string{name: onDisk(port)})
			check := b.stays(t, name)
			b.agent(t, to)
			check(t)
			if got := b.within(t, b.pod(t, name), "web", "cat /disk/file"); got != "kept" {
				t.Errorf("%s: %q", name, got)
			}
			b.ends(t, name)
		}
	})
}

// TestISCSIBlock has a pod use a disk of a target without a file system.
func TestISCSIBlock(t *testing.T) {
	b := setup(t)
	iqn := b.target(t, "raw", "")
	b.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: iscsi-raw}
spec:
  capacity: {storage: 64Mi}
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  storageClassName: ""
  claimRef: {namespace: default, name: iscsi-raw}
  iscsi: {targetPortal: "127.0.0.1:3260", iqn: "%s", lun: 0}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: iscsi-raw}
spec:
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  storageClassName: ""
  volumeName: iscsi-raw
  resources: {requests: {storage: 64Mi}}
`, iqn), "pvc/iscsi-raw", "pv/iscsi-raw")
	b.start(t, map[string]string{"iscsi-raw": spec("volumes: [{name: disk, persistentVolumeClaim: {claimName: iscsi-raw}}]", "volumeDevices: [{name: disk, devicePath: /dev/disk}]")})
	if got := b.within(t, b.pod(t, "iscsi-raw"), "web", "test -b /dev/disk && echo block-device | dd of=/dev/disk conv=fsync 2>/dev/null; dd if=/dev/disk bs=12 count=1 2>/dev/null"); got != "block-device" {
		t.Errorf("the device has %q", got)
	}
	b.ends(t, "iscsi-raw")
	if got := b.Run(t, "head -c 12 /data/raw.img; losetup -a"); got != "block-device" {
		t.Errorf("the disk has %q", got)
	}
}

// TestISCSIAuthentication has a target want CHAP: with a wrong password, the pod waits, and nobody is told the password; with the right one, it runs.
func TestISCSIAuthentication(t *testing.T) {
	b := setup(t)
	iqn := b.target(t, "chap", "right-password-1")
	const secret = `
apiVersion: v1
kind: Secret
metadata: {name: iscsi-chap}
type: kubernetes.io/iscsi-chap
stringData: {node.session.auth.username: chap-user, node.session.auth.password: "%s"}
`
	b.apply(t, fmt.Sprintf(secret, "wrong-password-2"), "secret/iscsi-chap")
	b.CreateOf(t, onDisk("iscsi: {targetPortal: 127.0.0.1, iqn: \""+iqn+"\", lun: 0, fsType: ext4, chapAuthSession: true, secretRef: {name: iscsi-chap}}"), "iscsi-chap")
	var events string
	vmbench.Eventually(t, "an event of the refusal", func() string {
		var err error
		if events, err = b.Kubectl(t.Context(), "get", "events", "--field-selector", "involvedObject.name=iscsi-chap,reason=FailedMount", "-o", "jsonpath={.items[*].message}"); err != nil || events == "" {
			return fmt.Sprint(events, err)
		}
		return ""
	})
	if !strings.Contains(events, "authorization failure") || strings.Contains(events, "password-2") {
		t.Errorf("the event says %q", events)
	}
	b.apply(t, fmt.Sprintf(secret, "right-password-1"))
	b.Runs(t, "iscsi-chap")
	b.ends(t, "iscsi-chap")
}

// TestFibreChannelByWWID has a pod use a disk of the kernel's loopback target by its WWID, as one of Fibre Channel: no machine here has an adapter.
// After the pod, the node has no device of it, and finds it again for the next one.
func TestFibreChannelByWWID(t *testing.T) {
	b := setup(t)
	const (
		disks = "ls /dev/disk/by-id | grep ^scsi-36001405 | grep -v part; true"
		group = lio + "/loopback/naa.5001405000000001/tpgt_1"
		core  = lio + "/core/fileio_0/fc"
	)
	b.later(t, "cd "+group+" && rm lun/lun_0/disk && rmdir lun/lun_0 && cd / && rmdir "+group+" "+lio+"/loopback/naa.5001405000000001 && rmdir "+core+" && rm /data/fc.img")
	b.Run(t, fmt.Sprintf(exportFile, "fc", "99999999-2222-3333-4444-555555555555")+`
mkdir -p `+group+`/lun/lun_0
cd `+group+`
echo naa.5001405000000002 > nexus
ln -s `+core+` lun/lun_0/disk`)
	var wwid string
	vmbench.Eventually(t, "the disk", func() string {
		link := b.Run(t, disks)
		if wwid = strings.TrimPrefix(link, "scsi-"); wwid == "" || strings.Contains(wwid, "\n") {
			return fmt.Sprintf("links %q", link)
		}
		return ""
	})
	source := "fc: {wwids: [\"" + wwid + "\"], fsType: ext4}"
	for i, want := range []string{"", "1"} {
		name := fmt.Sprint("fc-", i)
		b.start(t, map[string]string{name: onDisk(source)})
		if got := b.within(t, b.pod(t, name), "web", "cat /disk/file 2>/dev/null; echo 1 > /disk/file; sync"); got != want {
			t.Errorf("pod %d finds %q, want %q", i, got, want)
		}
		if out, err := b.Kubectl(t.Context(), "delete", "pod", name, "--timeout", "5m"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		vmbench.Eventually(t, "the end of the disk", func() string { return b.Run(t, disks) })
	}
}

// apply creates or changes objects. The named ones, as "kind/name", are deleted when the test ends.
func (b *bench) apply(t *testing.T, manifest string, names ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	vmbench.Eventually(t, "apply", func() string {
		if out, err := b.Kubectl(t.Context(), "apply", "-f", file); err != nil {
			return err.Error() + " " + out
		}
		return ""
	})
	t.Cleanup(func() {
		for _, n := range names {
			if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--wait=false", "--ignore-not-found", n); err != nil {
				t.Errorf("delete: %v: %s", err, out)
			}
		}
	})
}
