package flex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const name = "example.com/disk"

// bench is a node with a directory of drivers. A directory counts as mounted if a driver has written the file "mounted" into it.
type bench struct {
	t   *testing.T
	dir string
	cfg Config
	rec *tracetest.Recorder
	p   *Plugin
}

type marks struct{ *mount.FakeMounter }

func (m marks) IsMountPoint(dir string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, "mounted")); err == nil {
		return true, nil
	}
	return m.FakeMounter.IsMountPoint(dir)
}

func newBench(t *testing.T, edit func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), rec: tracetest.New(t)}
	b.cfg = Config{RootDir: filepath.Join(b.dir, "root"), Dir: filepath.Join(b.dir, "exec"), NodeName: "node", Mounter: marks{mount.NewFakeMounter(nil)}, Bus: b.rec.Bus()}
	if edit != nil {
		edit(&b.cfg)
	}
	var err error
	if b.p, err = New(b.cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

// The program of a driver with this name.
func (b *bench) program(driver string) string {
	return filepath.Join(b.cfg.Dir, strings.ReplaceAll(driver, "/", "~"), filepath.Base(driver))
}

// install installs a driver: a shell script that notes its arguments, and answers as the cases say.
func (b *bench) install(driver, cases string) {
	b.t.Helper()
	path := b.program(driver)
	// Drivers run at once: each writes its line at once.
	script := "#!/bin/sh\n(IFS='|'; echo \"$*|\" >> " + filepath.Join(b.dir, "calls") + ")" +
		"\nok() { echo '{\"status\": \"Success\"'\"$1\"'}'; }\ncase $1 in\n" + cases + "\n*) echo '{\"status\": \"Not supported\"}'; exit 1;;\nesac\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(script), 0o700), os.Rename(path+".new", path)); err != nil {
		b.t.Fatal(err)
	}
}

// calls returns the calls of drivers since the last time, one a line, without the bench's directory.
func (b *bench) calls() []string {
	b.t.Helper()
	path := filepath.Join(b.dir, "calls")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	_ = os.Remove(path)
	var out []string
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(line, b.dir, "")), "|"))
	}
	return out
}

func (b *bench) spec(uid string, edit func(*volume.Spec)) volume.Spec {
	s := volume.Spec{
		Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: types.UID(uid)}, Spec: v1.PodSpec{ServiceAccountName: "sa"}},
		Volume: &v1.Volume{Name: "vol", VolumeSource: v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{
			Driver: name, FSType: "ext4", Options: map[string]string{"size": "1"},
		}}},
	}
	if edit != nil {
		edit(&s)
	}
	s.Place = volume.Place{
		Dir: volume.Dir(b.cfg.RootDir, types.UID(uid), sourceOf(s).driver, s.Volume.Name), Plugin: sourceOf(s).driver, PodUID: types.UID(uid), Name: s.Volume.Name,
	}
	return s
}

func (b *bench) setUp(s volume.Spec) {
	b.t.Helper()
	if _, err := b.p.SetUp(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) tearDown(s volume.Spec) {
	b.t.Helper()
	if err := b.p.TearDown(b.t.Context(), s.Place); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.calls()); diff != "" {
		b.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

const (
	plain  = `init) ok ', "capabilities": {"attach": false, "selinuxRelabel": false}';;`
	mounts = `mount) touch $2/mounted; ok;; unmount) rm $2/mounted; ok;;`
)

func TestMount(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, plain+mounts)
	s := b.spec("u", func(s *volume.Spec) {
		s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(os.Getgid()))}
	})
	out, err := b.p.SetUp(t.Context(), s)
	if err != nil || out.HostPath != s.Dir || out.ReadOnly || out.SELinuxRelabel {
		t.Errorf("%+v, %v", out, err)
	}
	b.setUp(s) // it is mounted already
	const dir = "/root/pods/u/volumes/example.com~disk/vol"
	options := `{"kubernetes.io/fsType":"ext4","kubernetes.io/mounterArgs.FsGroup":"` + itoa(os.Getgid()) + `","kubernetes.io/pod.name":"pod","kubernetes.io/pod.namespace":"ns",` +
		`"kubernetes.io/pod.uid":"u","kubernetes.io/pvOrVolumeName":"vol","kubernetes.io/readwrite":"rw","kubernetes.io/serviceAccount.name":"sa","size":"1"}`
	b.expect("init", "mount|"+dir+"|"+options)
	info, err := os.Stat(s.Dir)
	if err != nil || info.Mode()&os.ModeSetgid == 0 {
		t.Errorf("the fsGroup is not set: %v, %v", info, err)
	}
	b.tearDown(s)
	b.tearDown(s)
	b.expect("unmount|" + dir)
	if _, err := os.Lstat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory is left")
	}
	var told []string
	for _, r := range b.rec.Records() {
		if c, ok := r.Event.(*trace.CSICall); ok && r.Edge == trace.EdgeEnd {
			told = append(told, strings.Join([]string{c.Driver, c.Method, c.Volume, c.Code, c.Err}, " "))
			if !c.Flex {
				t.Errorf("%+v", c)
			}
		}
	}
	if want := []string{name + " init  OK ", name + " mount vol OK ", name + " unmount vol OK "}; !slices.Equal(told, want) {
		t.Errorf("records %q", told)
	}
}

// A persistent volume has the options of its own source; the pod's claim decides whether it is read-only.
func TestPersistentVolume(t *testing.T) {
	b := newBench(t, nil)
	b.install("cifs", plain+mounts) // a driver without a vendor
	s := b.spec("u", func(s *volume.Spec) {
		s.Volume, s.ReadOnly = &v1.Volume{Name: "pv-1"}, true
		s.PV = &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}
		s.PV.Spec.FlexVolume = &v1.FlexPersistentVolumeSource{Driver: "cifs", Options: map[string]string{"kubernetes.io/fsType": "mine"}}
	})
	if !b.p.CanSupportPV(s.PV) || b.p.CanSupport(s.Volume) || b.p.DriverOf(s) != "cifs" {
		t.Error("not its volume")
	}
	out, err := b.p.SetUp(t.Context(), s)
	if err != nil || !out.ReadOnly {
		t.Errorf("%+v, %v", out, err)
	}
	if got := b.calls(); len(got) != 2 || !strings.Contains(got[1], `/root/pods/u/volumes/cifs/pv-1|{"kubernetes.io/fsType":"mine"`) || !strings.Contains(got[1], `"kubernetes.io/readwrite":"ro"`) {
		t.Errorf("%q", got)
	}
}

func TestSecret(t *testing.T) {
	secret := func(name, kind string) *v1.Secret {
		return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Type: v1.SecretType(kind), Data: map[string][]byte{"password": []byte("pass")}}
	}
	b := newBench(t, func(c *Config) {
		c.API = fakeapi.Of(fake.NewClientset(secret("right", name), secret("wrong", "Opaque"))).CoreV1()
	})
	b.install(name, plain+mounts)
	refer := func(to string) volume.Spec {
		return b.spec(to, func(s *volume.Spec) { s.Volume.FlexVolume.SecretRef = &v1.LocalObjectReference{Name: to} })
	}
	b.setUp(refer("right"))
	if got := b.calls(); len(got) != 2 || !strings.Contains(got[1], `"kubernetes.io/secret/password":"cGFzcw=="`) {
		t.Errorf("%q", got)
	}
	for to, want := range map[string]string{
		"wrong": `couldn't get secret ns/wrong err: its type is "Opaque": must be the driver's name, example.com/disk`, "missing": `couldn't get secret ns/missing err: secrets "missing" not found`,
	} {
		if _, err := b.p.SetUp(t.Context(), refer(to)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", to, err)
		}
	}
	b.expect()
}

// A driver that is installed, or replaced, is used without a restart.
func TestNewDriver(t *testing.T) {
	changed := make(chan string, 10)
	b := newBench(t, func(c *Config) { c.Changed = func(d string) { changed <- d } })
	stopped := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { stopped <- b.p.Run(ctx) }()
	s := b.spec("u", nil)
	var none *NotInstalledError
	if _, err := b.p.SetUp(t.Context(), s); !errors.As(err, &none) || err.Error() != "flexvolume driver example.com/disk is not installed: "+b.program(name)+" does not exist" {
		t.Error(err)
	}
	if name, err := b.p.AttachName(t.Context(), s); name != "" || err != nil {
		t.Error(name, err)
	}
	b.install(name, plain+mounts)
	for end := time.After(time.Minute); ; {
		select {
		case got := <-changed:
			if got != name {
				t.Fatal(got)
			}
		case <-end:
			t.Fatal("the new driver was not noticed")
		}
		if _, err := b.p.SetUp(t.Context(), s); err == nil {
			break
		}
	}
	b.calls()
	b.install(name, plain+`unmount) rm $2/mounted; ok ', "message": "another version"';;`)
	b.tearDown(s)
	b.expect("init", "unmount|/root/pods/u/volumes/example.com~disk/vol")
	if err := os.RemoveAll(filepath.Dir(b.program(name))); err != nil {
		t.Fatal(err)
	}
	b.tearDown(s) // there is nothing to do
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A pod does not relabel the files of a read-only volume, which are others'.
func TestRelabel(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		b := newBench(t, nil)
		b.install("cifs", `init) ok ', "capabilities": {"attach": false, "selinuxRelabel": true}';;`+mounts)
		out, err := b.p.SetUp(t.Context(), b.spec("u", func(s *volume.Spec) {
			s.Volume.FlexVolume = &v1.FlexVolumeSource{Driver: "cifs", ReadOnly: readOnly}
		}))
		if err != nil || out.ReadOnly != readOnly || out.SELinuxRelabel == readOnly {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
