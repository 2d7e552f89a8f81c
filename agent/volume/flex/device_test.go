package flex

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	attaches = `init) ok;; attach) ok ', "device": "/dev/x"';; waitforattach) ok ', "device": "/dev/y"';; detach) ok;;` +
		`mountdevice) touch $2/mounted; ok;; unmountdevice) rm $2/mounted; ok;;`
	options = `{"kubernetes.io/fsType":"ext4","kubernetes.io/pvOrVolumeName":"vol","kubernetes.io/readwrite":"rw","size":"1"}`
	staged  = "/root/plugins/kubernetes.io/flexvolume/example.com/disk/mounts/vol"
	podDir  = "/root/pods/u1/volumes/example.com~disk/vol"
)

// Without a controller, the driver attaches the volume for the first pod, and detaches it after the last one.
func TestAttach(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, attaches+`mount) case $3 in *u1*) echo '{"status": "Failure"}';; *) touch $2/mounted; ok;; esac;;`+`unmount) rm $2/mounted; ok;;`)
	one, two := b.spec("u2", nil), b.spec("u3", nil)
	b.setUp(one)
	got := b.calls()
	want := []string{"init", "getvolumename|" + options, "attach|" + options + "|node", "waitforattach|/dev/x|" + options, "mountdevice|" + staged + "|/dev/y|" + options}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Fatalf("calls %q, want %q and mount", got, want)
		}
	}
	b.setUp(two)
	if got := b.calls(); len(got) != 1 {
		t.Errorf("for the second pod %q", got)
	}
	if _, err := b.p.SetUp(t.Context(), b.spec("u1", nil)); err == nil {
		t.Error("no failure")
	}
	b.calls()
	b.tearDown(one)
	b.expect("unmount|/root/pods/u2/volumes/example.com~disk/vol")
	b.tearDown(two)
	b.expect("unmount|/root/pods/u3/volumes/example.com~disk/vol", "unmountdevice|"+staged, "detach|vol|node")
	if _, err := os.Lstat(b.p.staging(one.Place)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the device's directory is left")
	}
	b.tearDown(two)
	b.expect()
}

// A failure in between is repeated: the device is detached once it is unmounted.
func TestDetachFails(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, attaches+mounts)
	s := b.spec("u1", nil)
	b.setUp(s)
	b.calls()
	b.install(name, `init) ok;; unmount|unmountdevice) rm $2/mounted; ok;; detach) echo '{"status": "Failure", "message": "busy"}';;`)
	left, ok := errors.AsType[*volume.StagedError](b.p.TearDown(t.Context(), s.Place))
	if !ok || left.Error() != `flexvolume driver example.com/disk: detach: status "Failure": busy` {
		t.Fatal(left)
	}
	b.calls()
	b.install(name, attaches+mounts)
	for range 2 {
		if err := left.Again(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b.tearDown(s)
	b.expect("init", "detach|vol|node")
}

// With a controller, the volume waits until the node's status lists it, and the agent neither attaches nor detaches it.
func TestControllerAttaches(t *testing.T) {
	var is atomic.Bool
	var asked atomic.Int32
	b := newBench(t, func(c *Config) {
		c.Attached = func(name v1.UniqueVolumeName) (string, bool) {
			if asked.Add(1) == 3 {
				is.Store(true)
			}
			return "/dev/x", is.Load() && name == "example.com/disk/vol"
		}
	})
	b.install(name, attaches+mounts)
	s := b.spec("u1", nil)
	if got, err := b.p.AttachName(t.Context(), s); got != "example.com/disk/vol" || err != nil {
		t.Error(got, err)
	}
	if got := b.p.FoundName(s.Place); got != "" {
		t.Errorf("%q is attached", got)
	}
	b.setUp(s)
	if got := b.calls(); len(got) != 5 || got[2] != "waitforattach|/dev/x|"+options {
		t.Errorf("%q", got)
	}
	waits := tracetest.Events[trace.Wait](b.rec)
	if len(waits) != 2 || waits[0].For != trace.WaitAttach || waits[0].Target != (trace.Target{Kind: trace.TargetVolume, Name: "vol"}) {
		t.Errorf("waits %+v", waits)
	}
	if got := b.p.FoundName(s.Place); got != "example.com/disk/vol" {
		t.Errorf("%q is attached", got)
	}
	b.tearDown(s)
	b.expect("unmount|"+podDir, "unmountdevice|"+staged)
}

// What a driver does not support, the agent does, or omits; it asks once.
func TestNotSupported(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, `init) ok;;`)
	s := b.spec("u1", nil)
	b.setUp(s) // nothing has a device: the directory for it is mounted
	fake := b.cfg.Mounter.(marks).FakeMounter
	if len(fake.MountPoints) != 1 || fake.MountPoints[0].Device != b.p.staging(s.Place) || fake.MountPoints[0].Path != s.Dir {
		t.Errorf("mounted %+v", fake.MountPoints)
	}
	if got := b.calls(); len(got) != 6 {
		t.Errorf("calls %q", got)
	}
	b.tearDown(s)
	b.expect("unmount|"+podDir, "detach|vol|node")
	if len(fake.MountPoints) != 0 {
		t.Errorf("left %+v", fake.MountPoints)
	}
	b.setUp(s)
	b.tearDown(s)
	b.expect()
}

// A failed step says at which stage the volume is.
func TestStages(t *testing.T) {
	for call, stage := range map[string]string{"getvolumename": "MountVolume.WaitForAttach", "attach": "MountVolume.WaitForAttach", "waitforattach": "MountVolume.WaitForAttach", "mountdevice": "MountVolume.MountDevice"} {
		b := newBench(t, nil)
		b.install(name, call+`) echo '{"status": "Failure", "message": "no"}'; exit 1;;`+attaches+mounts)
		_, err := b.p.SetUp(t.Context(), b.spec("u1", nil))
		if err == nil || err.Error() != stage+" failed: flexvolume driver example.com/disk: "+call+`: exit status 1, status "Failure": no` {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestExpand(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Attached = func(v1.UniqueVolumeName) (string, bool) { return "/dev/x", true }
	})
	s := b.spec("u1", func(s *volume.Spec) {
		s.PVC = &v1.PersistentVolumeClaim{}
		s.PVC.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Ki")}
	})
	b.install(name, attaches+`expandfs) ok;;`)
	if done, err := b.p.Expand(t.Context(), s, resource.MustParse("2Ki")); !done || err != nil {
		t.Error(done, err)
	}
	b.expect("init", "expandfs|"+options+"|/dev/x|"+podDir+"|2048|1024")
	b.install(name, attaches+mounts+`expandfs) ok;;`)
	b.setUp(s)
	b.calls()
	if done, err := b.p.Expand(t.Context(), s, resource.MustParse("2Ki")); !done || err != nil {
		t.Error(done, err)
	}
	b.expect("expandfs|" + options + "|/dev/y|" + podDir + "|2048|1024") // the device of waitforattach
	b.install(name, `init) ok ', "capabilities": {"requiresFSResize": false}';;`)
	if done, err := b.p.Expand(t.Context(), s, resource.MustParse("2Ki")); done || err != nil {
		t.Error(done, err)
	}
	b.expect("init")
}

// What an agent left when it was killed before the device was unmounted is cleaned once, unless a pod has the volume.
func TestClean(t *testing.T) {
	b := newBench(t, nil)
	b.install(name, attaches+mounts)
	s := b.spec("u1", nil)
	b.setUp(s)
	if err := b.p.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.calls(); len(got) != 6 {
		t.Errorf("a used volume was touched: %q", got)
	}
	if err := errors.Join(os.Remove(s.Dir+"/mounted"), os.Remove(s.Dir)); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.p, err = New(b.cfg); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.p.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.expect("init", "unmountdevice|"+staged, "detach|vol|node")
}
