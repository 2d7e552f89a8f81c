package scsi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	portal = "192.0.2.1:3260"
	second = "192.0.2.2:3260"
	iqn    = "iqn.2003-01.com.example:disk"
)

// bench is a node: directories as /sys and /dev, scripts as programs, and mount points that outlive a plugin, as those of a kernel outlive an
// agent.
type bench struct {
	t      *testing.T
	dir    string
	cfg    Config
	kernel *mount.FakeMounter
	rec    *tracetest.Recorder
	build  func(Config) (*Plugin, error)
	p      *Plugin
	left   map[string]func(context.Context) error // by a pod's directory
}

// mounter fails when the bench's budget is used up: the agent has ended.
type mounter struct {
	*mount.FakeMounter
	b *bench
}

func (m mounter) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	if err := m.b.spend(); err != nil {
		return err
	}
	if actual, err := filepath.EvalSymlinks(source); err == nil && fstype != "" { // as the kernel shows it
		source = actual
	}
	if fstype == "" && strings.HasPrefix(source, m.b.cfg.Dev) {
		source = "devtmpfs" // a device file is bound
	}
	label := slices.DeleteFunc(slices.Clone(options), func(o string) bool { return !strings.HasPrefix(o, "context=") })
	for _, from := range m.FakeMounter.MountPoints {
		if from.Path == source {
			label = from.Opts // a bind mount is of the same file system
		}
	}
	if err := m.FakeMounter.MountSensitive(source, target, fstype, options, sensitive); err != nil {
		return err
	}
	m.FakeMounter.MountPoints[len(m.FakeMounter.MountPoints)-1].Opts = strings.Split(strings.Join(label, ","), ",")
	return nil
}

func (m mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitive)
}

func (m mounter) Unmount(target string) error {
	if err := m.b.spend(); err != nil {
		return err
	}
	return m.FakeMounter.Unmount(target)
}

// programs are the scripts of the node. The programs note their arguments. One that finds no budget fails, before it does anything.
//
// They use few programs themselves: the tests run them many times.
const programs = `#!/bin/sh
B=BENCH
if [ -e $B/budget ]; then
	read -r n < $B/budget
	[ $n -gt 0 ] || exit 97
	echo $((n - 1)) > $B/budget
fi
me=${0##*/}
case $me in fsck|blkid) ;; *) echo "$me $*" >> $B/calls;; esac
if [ -e "$B/script-$me" ]; then . "$B/script-$me"; fi
portal= iqn= prev=
for a; do
	case $prev in -p) portal=$a;; -T) iqn=$a;; esac
	prev=$a
done
address=${portal%:*} port=${portal##*:}
address=${address#[} address=${address%]}
link=$B/dev/disk/by-path/ip-$address:$port-iscsi-$iqn-lun-
case $me in
blkid) echo TYPE=ext4;;
iscsiadm)
	case "$*" in
	*"-o show") while read -r line; do echo "$line"; done < $B/interface;;
	*--login)
		n=0
		if [ -e $B/logins ]; then read -r n < $B/logins; fi
		n=$((n + 1)); echo $n > $B/logins
		case $n in 1) letter=a;; 2) letter=b;; *) letter=c;; esac
		d=$B/sys/class/iscsi_host/host$n/device/session$n
		c=$d/connection$n:0/iscsi_connection/connection$n:0
		t=$d/target$n:0:0/$n:0:0:
		s=$B/sys/block/sd$letter
		mkdir -p $d/iscsi_session/session$n $c $B/sys/class/scsi_host/host$n $B/dev/disk/by-path ${t}0/block/sd${letter}x ${t}1/block/sd${letter}y ${s}x/device ${s}y/device ${s}x/holders ${s}y/holders
		echo $iqn > $d/iscsi_session/session$n/targetname
		for prefix in "" persistent_; do echo $address > $c/${prefix}address; echo $port > $c/${prefix}port; done
		: > $B/sys/class/scsi_host/host$n/scan
		: > ${s}x/device/delete; : > ${s}y/device/delete
		: > $B/dev/sd${letter}x; : > $B/dev/sd${letter}y
		if ! [ -e $B/no-links ]; then ln -sf ../../sd${letter}x ${link}0; ln -sf ../../sd${letter}y ${link}1; fi;;
	*--logout*)
		for s in $B/sys/class/iscsi_host/*/device/session*; do
			[ -d $s ] || exit 21
			read -r is < $s/iscsi_session/${s##*/}/targetname
			for c in $s/connection*/iscsi_connection/*/address; do read -r at < $c; done
			[ $is = $iqn ] && [ $at = $address ] || continue
			for b in $s/target*/*/block/*; do letter=${b##*/sd} letter=${letter%?}; done
			rm -rf $s ${link}0 ${link}1 $B/dev/sd${letter}? $B/sys/block/sd${letter}?
			exit 0
		done
		exit 21;;
	esac;;
multipath) rm -rf $B/sys/block/${2##*/} $B/dev/${2##*/};;
esac
`

func newBench(t *testing.T, build func(Config) (*Plugin, error), edit func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), kernel: mount.NewFakeMounter(nil), rec: tracetest.New(t), build: build, left: map[string]func(context.Context) error{}}
	b.cfg = Config{
		RootDir: b.path("root"), Sys: b.path("sys"), Dev: b.path("dev"), Mounter: mounter{b.kernel, b}, Bus: b.rec.Bus(), Appear: 200 * time.Millisecond, Patience: 30 * time.Second,
	}
	for _, dir := range []string{"bin", "sys/block", "dev", "root/pods"} {
		if err := os.MkdirAll(b.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"iscsiadm", "multipath", "blockdev", "blkid", "fsck"} {
		b.write("bin/"+name, strings.ReplaceAll(programs, "BENCH", b.dir))
	}
	b.write("interface", "# BEGIN RECORD 2.1\niface.iscsi_ifacename = default\niface.transport_name = tcp\niface.initiatorname = <empty>\niface.mtu = 0\n# END RECORD\n")
	t.Setenv("PATH", b.path("bin")+":/usr/bin:/bin")
	if edit != nil {
		edit(&b.cfg)
	}
	b.restart()
	return b
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.path(path)), 0o755), os.WriteFile(b.path(path), []byte(text), 0o755)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(path string) string {
	text, err := os.ReadFile(b.path(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// restart replaces the plugin by a new one, as a restart of the agent does.
func (b *bench) restart() {
	b.t.Helper()
	clear(b.left)
	var err error
	if b.p, err = b.build(b.cfg); err != nil {
		b.t.Fatal(err)
	}
}

// budget is how many further steps (programs, mounts and unmounts) succeed; -1 for all.
func (b *bench) budget(n int) {
	if n < 0 {
		_ = os.Remove(b.path("budget"))
		return
	}
	b.write("budget", strconv.Itoa(n)+"\n")
}

func (b *bench) spend() error {
	text := strings.TrimSpace(b.read("budget"))
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return errors.Join(err, errors.New("the agent has ended"))
	}
	b.budget(n - 1)
	return nil
}

// calls returns the runs of programs since the last time, without the bench's directory.
func (b *bench) calls() []string {
	text := b.read("calls")
	_ = os.Remove(b.path("calls"))
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(strings.ReplaceAll(line, b.dir, "")))
	}
	return out
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.calls()); diff != "" {
		b.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// spec returns a pod's volume.
func (b *bench) spec(uid string, edit func(*v1.ISCSIVolumeSource)) volume.Spec {
	src := &v1.ISCSIVolumeSource{TargetPortal: "192.0.2.1", IQN: iqn, ISCSIInterface: "default", FSType: "ext4"}
	if edit != nil {
		edit(src)
	}
	return b.place(uid, v1.VolumeSource{ISCSI: src})
}

func (b *bench) place(uid string, src v1.VolumeSource) volume.Spec {
	s := volume.Spec{
		Pod:    &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: types.UID(uid)}},
		Volume: &v1.Volume{Name: "vol", VolumeSource: src},
	}
	s.Place = volume.Place{Dir: volume.Dir(b.cfg.RootDir, types.UID(uid), b.p.Name(), "vol"), Plugin: b.p.Name(), PodUID: types.UID(uid), Name: "vol"}
	return s
}

// asBlock makes a volume a block volume of a persistent volume.
func (b *bench) asBlock(s volume.Spec) volume.Spec {
	s.PV = &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "vol"}}
	if src := s.Volume.ISCSI; src != nil {
		s.PV.Spec.ISCSI = &v1.ISCSIPersistentVolumeSource{TargetPortal: src.TargetPortal, Portals: src.Portals, IQN: src.IQN, Lun: src.Lun, ISCSIInterface: src.ISCSIInterface, FSType: src.FSType, InitiatorName: src.InitiatorName}
	}
	s.PV.Spec.FC = s.Volume.FC
	s.Block = true
	s.Dir = strings.Replace(s.Dir, "/volumes/", "/volumeDevices/", 1)
	return s
}

func (b *bench) setUp(s volume.Spec) {
	b.t.Helper()
	if err := b.trySetUp(s); err != nil {
		b.t.Fatal(err)
	}
	if s.Block {
		if _, err := os.Lstat(filepath.Join(b.p.MapDir(s), string(s.PodUID))); err != nil {
			b.t.Error("the device for all pods: ", err)
		}
	}
}

func (b *bench) trySetUp(s volume.Spec) error {
	set := b.p.SetUp
	if s.Block {
		set = b.p.SetUpBlock
	}
	_, err := set(b.t.Context(), s)
	return err
}

func (b *bench) tearDown(s volume.Spec) {
	b.t.Helper()
	if err := b.tryTearDown(s); err != nil {
		b.t.Fatal(err)
	}
}

// tryTearDown does what the manager does: what a TearDown has left is tried again.
func (b *bench) tryTearDown(s volume.Spec) error {
	if again := b.left[s.Dir]; again != nil {
		err := again(b.t.Context())
		if err == nil {
			delete(b.left, s.Dir)
		}
		return err
	}
	down := b.p.TearDown
	if s.Block {
		down = b.p.TearDownBlock
	}
	err := down(b.t.Context(), s.Place)
	if left, ok := errors.AsType[*volume.StagedError](err); ok {
		b.left[s.Dir] = left.Again
		if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
			b.t.Errorf("the pod has its volume still: %v", err)
		}
	}
	return err
}

// mounted returns what is mounted where, without the bench's directory.
func (b *bench) mounted() []string {
	var out []string
	for _, m := range b.kernel.MountPoints {
		out = append(out, strings.ReplaceAll(m.Device+" "+m.Path, b.dir, ""))
	}
	slices.Sort(out)
	return out
}

// files returns the files and empty directories below a directory of the bench, without those above.
func (b *bench) files(dir string) []string {
	var out []string
	err := filepath.WalkDir(b.path(dir), func(path string, e os.DirEntry, err error) error {
		if err != nil && errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if all, _ := os.ReadDir(path); !e.IsDir() || len(all) == 0 {
			out = append(out, strings.TrimPrefix(path, b.path(dir)+"/"))
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// sessions returns the sessions of the node.
func (b *bench) sessions() int {
	all, err := filepath.Glob(b.path("sys/class/iscsi_host/*/device/session*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return len(all)
}

// gone fails if anything of a volume is left on the node.
func (b *bench) gone(what string) {
	b.t.Helper()
	if left := b.mounted(); len(left) > 0 && !strings.Contains(what, "block") {
		b.t.Errorf("%s: mounted: %q", what, left)
	}
	if n := b.sessions(); n > 0 {
		b.t.Errorf("%s: %d sessions are left", what, n)
	}
	for _, f := range append(b.files("root/plugins"), b.files("root/pods")...) {
		if strings.Contains(f, "-lun-") || filepath.Base(f) == "vol" {
			b.t.Errorf("%s: %s is left", what, f)
		}
	}
}
