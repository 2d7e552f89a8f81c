package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/claim"
	"github.com/kubeloupe/kubeloupe/agent/volume/csi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	driverName = "lab.csi.kubeloupe.dev"
	nodeName   = "lab"
	handle     = "vol-1"
)

// TestMain has the test binary be the driver, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("BE_CSIDRIVER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// lab is a driver's process, an API and a kubelet's root directory.
type lab struct {
	t    *testing.T
	root string
	data string
	api  *fake.Clientset
	cmd  *exec.Cmd
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir, err := os.MkdirTemp("", "csi") // a socket's path must be short
	must(t, err)
	l := &lab{t: t, root: filepath.Join(dir, "k"), data: filepath.Join(dir, "d"), api: fake.NewClientset(objects()...)}
	for _, d := range []string{l.data, filepath.Join(l.root, "plugins_registry")} {
		must(t, os.MkdirAll(d, 0o755))
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), dir) {
			t.Errorf("mounts are left in %s (%v)", dir, err)
			return
		}
		must(t, os.RemoveAll(dir))
	})
	return l
}

// startDriver runs the driver until the test ends, or stopDriver.
func (l *lab) startDriver(flags ...string) {
	l.t.Helper()
	self, err := os.Executable()
	must(l.t, err)
	args := append([]string{
		"-name", driverName, "-node", nodeName, "-data", l.data, "-endpoint", filepath.Join(l.root, "csi.sock"),
		"-registration", filepath.Join(l.root, "plugins_registry", "csi-reg.sock"), "-max-volumes", "12",
	}, flags...)
	l.cmd = exec.CommandContext(context.Background(), self, args...)
	l.cmd.Env = append(os.Environ(), "BE_CSIDRIVER=1")
	l.cmd.Stderr = os.Stderr
	// The driver writes a line before it answers: in a file, none comes late.
	out, err := os.OpenFile(l.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(l.t, err)
	l.cmd.Stdout = out
	must(l.t, l.cmd.Start())
	must(l.t, out.Close())
	l.t.Cleanup(l.stopDriver)
}

func (l *lab) stopDriver() {
	if l.cmd == nil {
		return
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	_ = l.cmd.Wait()
	l.cmd = nil
}

func (l *lab) log() string { return filepath.Join(filepath.Dir(l.root), "calls") }

// calls are all that the driver has answered.
func (l *lab) calls() []line {
	text, err := os.ReadFile(l.log())
	must(l.t, err)
	var out []line
	for raw := range bytes.Lines(text) {
		var c line
		if json.Unmarshal(raw, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// called counts the driver's successful calls of a method.
func (l *lab) called(method string) int {
	n := 0
	for _, c := range l.calls() {
		if c.Method == method && c.Code == "OK" {
			n++
		}
	}
	return n
}

func (l *lab) last(method string) line {
	for _, c := range slices.Backward(l.calls()) {
		if c.Method == method {
			return c
		}
	}
	l.t.Errorf("%s was not called", method)
	return line{}
}

// agent is the volume side of an agent.
type agent struct {
	*volume.Manager
	csi    *csi.Plugin
	rec    *tracetest.Recorder
	events *toldEvents
	stop   func()
}

type toldEvents struct {
	events.Publisher
	mu   sync.Mutex
	list []string
}

func (e *toldEvents) Pod(_ context.Context, _ *v1.Pod, _, _, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, reason+": "+message)
}

func (e *toldEvents) About(_ context.Context, _ *v1.Pod, o v1.ObjectReference, _, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, o.Kind+" "+o.Name+" "+reason+": "+message)
}

func (e *toldEvents) has(part string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.list, func(s string) bool { return strings.Contains(s, part) })
}

func (l *lab) startAgent() *agent {
	t := l.t
	t.Helper()
	a := &agent{rec: tracetest.New(t), events: &toldEvents{}}
	var err error
	a.csi, err = csi.New(csi.Config{
		RootDir: l.root, NodeName: nodeName, API: fakeapi.Of(l.api), Mounter: mount.New(""), Bus: a.rec.Bus(), Events: a.events,
		Registered: func(string) { a.Retry(csi.Name) },
	})
	must(t, err)
	claims, err := claim.New(claim.Config{API: fakeapi.Of(l.api).CoreV1(), Events: a.events})
	must(t, err)
	a.Manager, err = volume.New(volume.Config{RootDir: l.root, Plugins: []volume.Plugin{a.csi}, Bus: a.rec.Bus(), Claims: claims, Events: a.events})
	must(t, err)
	plugins, err := pluginwatch.New(pluginwatch.Config{
		Dir: filepath.Join(l.root, "plugins_registry"), Handlers: map[string]pluginwatch.Handler{"CSIPlugin": a.csi}, Bus: a.rec.Bus(),
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{a.Run, plugins.Run, a.csi.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	a.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(a.stop)
	return a
}

// mounted mounts a pod's volumes, patiently: the driver may still have to register.
func (l *lab) mounted(a *agent, p *v1.Pod) map[string]criconfig.Volume {
	l.t.Helper()
	var err error
	for range 100 {
		var got map[string]criconfig.Volume
		if got, err = a.Mount(l.t.Context(), p); err == nil {
			return got
		}
	}
	l.t.Fatal(err)
	return nil
}

func TestStagedOnceForTwoPods(t *testing.T) {
	l := newLab(t)
	a := l.startAgent()
	// The driver comes after the pod.
	_, err := a.Mount(t.Context(), pod("u1"))
	if err == nil || !a.events.has(`FailedMount: MountVolume.MountDevice failed for volume "pv" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name `+driverName+" not found in the list of registered CSI drivers") {
		t.Errorf("error %v, events %q", err, a.events.list)
	}
	l.startDriver()
	one := l.mounted(a, pod("u1"))["data"]
	if want := filepath.Join(l.root, "pods/u1/volumes/kubernetes.io~csi/pv/mount"); one.HostPath != want {
		t.Errorf("mounted at %s, want %s", one.HostPath, want)
	}
	two := l.mounted(a, pod("u2"))["data"]
	must(t, os.WriteFile(filepath.Join(one.HostPath, "file"), []byte("x"), 0o600))
	if got, err := os.ReadFile(filepath.Join(two.HostPath, "file")); err != nil || string(got) != "x" {
		t.Errorf("the other pod reads %q, %v", got, err)
	}
	if s, p := l.called("NodeStageVolume"), l.called("NodePublishVolume"); s != 1 || p != 2 {
		t.Errorf("staged %d times, published %d times", s, p)
	}
	publish, stage := l.last("NodePublishVolume"), l.last("NodeStageVolume")
	if publish.Context["csi.storage.k8s.io/pod.uid"] != "u2" || publish.Context["from"] != "pv" || publish.Publish["device"] != "/dev/x" {
		t.Errorf("published with %+v", publish)
	}
	if !slices.Equal(stage.Secrets, []string{"key"}) || !strings.HasSuffix(stage.Path, "/globalmount") {
		t.Errorf("staged with %+v", stage)
	}
	if got := a.InUse(); !slices.Equal(got, []v1.UniqueVolumeName{"kubernetes.io/csi/" + driverName + "^" + handle}) {
		t.Errorf("in use: %v", got)
	}
	stats, err := a.csi.Stats(t.Context(), a.Mounted("u1")["data"].Spec)
	if err != nil || stats.Capacity != 1<<30 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	l.wantRegistered(t)

	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u1"}))
	if n := l.called("NodeUnstageVolume"); n != 0 {
		t.Errorf("unstaged %d times while a pod uses it", n)
	}
	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u2"}))
	if n := l.called("NodeUnstageVolume"); n != 1 {
		t.Errorf("unstaged %d times", n)
	}
	if got := a.InUse(); len(got) != 0 {
		t.Errorf("in use: %v", got)
	}
	l.wantClean()
	if calls := a.rec.OfKind("csi.call"); len(calls) < 10 {
		t.Errorf("%d records of calls", len(calls))
	}
}

func TestAnotherAgentTakesOver(t *testing.T) {
	l := newLab(t)
	l.startDriver()
	first := l.startAgent()
	at := l.mounted(first, pod("u1"))["data"].HostPath
	l.mounted(first, pod("u2"))
	must(t, os.WriteFile(filepath.Join(at, "file"), []byte("x"), 0o600))
	first.stop()
	l.stopDriver()

	second := l.startAgent()
	if got := second.InUse(); len(got) != 1 {
		t.Errorf("in use before any pod is known: %v", got)
	}
	// The driver registers later: that is waited for, and no failure is reported.
	type result struct {
		volumes map[string]criconfig.Volume
		err     error
	}
	adopted := make(chan result, 1)
	go func() {
		v, err := second.Mount(t.Context(), pod("u1"))
		adopted <- result{v, err}
	}()
	l.waitFor(func() bool {
		return slices.ContainsFunc(second.rec.OfKind("pod.wait"), func(r trace.Record) bool {
			w, ok := r.Event.(*trace.Wait)
			return ok && w.Target.Kind == trace.TargetDriver && w.Target.Name == driverName
		})
	})
	l.startDriver()
	var got result
	select {
	case got = <-adopted:
	case <-time.After(time.Minute):
		t.Fatal("the volume is not adopted within a minute")
	}
	must(t, got.err)
	if path := got.volumes["data"].HostPath; path != at || second.events.has("FailedMount") {
		t.Errorf("adopted at %s, was at %s; events %q", path, at, second.events.list)
	}
	if got, err := os.ReadFile(filepath.Join(at, "file")); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	// u2 is gone for good: its volume is an orphan, but u1 still has it.
	clean := func(a *agent) {
		t.Helper()
		var err error
		for range 100 {
			if _, err = a.CleanOrphans(t.Context(), func(uid types.UID) bool { return uid == "u1" }); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond) // until the driver is registered again
		}
		t.Fatal(err)
	}
	clean(second)
	if _, err := os.Lstat(filepath.Join(l.root, "pods/u2")); !os.IsNotExist(err) {
		t.Errorf("u2: %v", err)
	}
	if n := l.called("NodeUnstageVolume"); n != 0 {
		t.Errorf("unstaged %d times while a pod uses it", n)
	}
	// The driver is replaced while the pod runs.
	l.stopDriver()
	l.startDriver()
	var err error
	for range 100 {
		if err = second.Unmount(t.Context(), trace.Pod{UID: "u1"}); err == nil {
			break
		}
	}
	must(t, err)
	l.wantClean()
}

func TestStagedLeftoverIsCleaned(t *testing.T) {
	l := newLab(t)
	l.startDriver()
	a := l.startAgent()
	l.mounted(a, pod("u1"))
	a.stop()
	// As after a crash between the two halves of a teardown.
	dir := filepath.Join(l.root, "pods/u1/volumes/kubernetes.io~csi/pv")
	must(t, syscall.Unmount(filepath.Join(dir, "mount"), 0))
	must(t, os.RemoveAll(filepath.Join(l.root, "pods/u1")))
	b := l.startAgent()
	l.waitFor(func() bool {
		_, err := b.CleanOrphans(t.Context(), func(types.UID) bool { return false })
		return err == nil && l.called("NodeUnstageVolume") == 1
	})
	l.wantClean()
}

func TestInlineVolumeAndBlock(t *testing.T) {
	l := newLab(t)
	l.startDriver()
	a := l.startAgent()
	inline := pod("u1")
	inline.Spec.Volumes[0].VolumeSource = v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: driverName, ReadOnly: new(true)}}
	got := l.mounted(a, inline)["data"]
	if !got.ReadOnly || os.WriteFile(filepath.Join(got.HostPath, "f"), nil, 0o600) == nil {
		t.Errorf("a read-only inline volume can be written: %+v", got)
	}
	if l.last("NodePublishVolume").Context["csi.storage.k8s.io/ephemeral"] != "true" || l.called("NodeStageVolume") != 0 {
		t.Error("not published as an ephemeral one")
	}
	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u1"}))

	block := pod("u2")
	block.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "disk"
	block.Spec.Containers[0].VolumeMounts = nil
	block.Spec.Containers[0].VolumeDevices = []v1.VolumeDevice{{Name: "data", DevicePath: "/dev/xvda"}}
	link := l.mounted(a, block)["data"].HostPath
	if link != filepath.Join(l.root, "pods/u2/volumeDevices/kubernetes.io~csi/disk-pv") {
		t.Errorf("device at %s", link)
	}
	if got := a.BlockVolumes(block); got["data"] != link {
		t.Errorf("devices for containers: %v", got)
	}
	if to, err := os.Readlink(link); err != nil || to != filepath.Join(l.root, "plugins/kubernetes.io/csi/volumeDevices/publish/disk-pv/u2") {
		t.Errorf("link to %s, %v", to, err)
	}
	at := filepath.Join(l.root, "plugins/kubernetes.io/csi/volumeDevices/disk-pv/dev")
	if _, err := os.Lstat(filepath.Join(at, "u2")); err != nil || !a.events.has(`SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "disk-pv" globalMapPath "`+at+`"`) {
		t.Errorf("%v, events %q", err, a.events.list)
	}
	a.stop()
	b := l.startAgent()
	l.mounted(b, block)
	must(t, b.Unmount(t.Context(), trace.Pod{UID: "u2"}))
	l.wantClean()
	if left, _ := filepath.Glob(filepath.Join(l.root, "plugins/kubernetes.io/csi/volumeDevices/disk-pv*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}

	wrong := pod("u3")
	wrong.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "disk"
	if _, err := b.Mount(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "volume data has volumeMode Block, but is specified in volumeMounts") {
		t.Errorf("error %v", err)
	}
	must(t, b.Unmount(t.Context(), trace.Pod{UID: "u3"}))
}

func TestAttachIsWaitedFor(t *testing.T) {
	l := newLab(t)
	l.startDriver()
	a := l.startAgent()
	l.attached(false)
	done := make(chan error, 1)
	go func() {
		_, err := a.Mount(t.Context(), pod("u1"))
		done <- err
	}()
	l.waitFor(func() bool {
		return slices.ContainsFunc(a.rec.OfKind("pod.wait"), func(r trace.Record) bool {
			w, ok := r.Event.(*trace.Wait)
			return ok && w.For == trace.WaitAttach
		})
	})
	if n := l.called("NodeStageVolume"); n != 0 {
		t.Errorf("staged %d times before it was attached", n)
	}
	// A pod that goes away does not sit that out.
	gone := make(chan error, 1)
	go func() {
		_, err := a.Mount(t.Context(), pod("u2"))
		gone <- err
	}()
	l.waitFor(func() bool {
		n := 0
		for _, r := range a.rec.OfKind("pod.wait") {
			if w, ok := r.Event.(*trace.Wait); ok && w.For == trace.WaitAttach && r.Edge == trace.EdgeBegin {
				n++
			}
		}
		return n > 1
	})
	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u2"}))
	select {
	case err := <-gone:
		if !errors.Is(err, volume.ErrReleased) {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a pod that goes away waits for its volume")
	}
	l.attached(true)
	if err := <-done; err != nil {
		l.mounted(a, pod("u1")) // the driver had not registered
	}
	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u1"}))
}

func TestVolumeGrowsOnMount(t *testing.T) {
	l := newLab(t)
	l.startDriver()
	a := l.startAgent()
	claims := l.api.CoreV1().PersistentVolumeClaims("ns")
	c, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	must(t, err)
	c.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("512Mi")}
	c.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: v1.PersistentVolumeClaimNodeResizePending}
	_, err = claims.UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
	must(t, err)
	l.mounted(a, pod("u1"))
	if got, err := os.ReadFile(filepath.Join(l.data, handle+".size")); err != nil || string(got) != "1073741824" {
		t.Errorf("grown to %q, %v", got, err)
	}
	c, err = claims.Get(t.Context(), "data", metav1.GetOptions{})
	must(t, err)
	if size := c.Status.Capacity[v1.ResourceStorage]; size.String() != "1Gi" || len(c.Status.AllocatedResourceStatuses) != 0 {
		t.Errorf("status %+v", c.Status)
	}
	l.mounted(a, pod("u1"))
	if n := l.called("NodeExpandVolume"); n != 1 {
		t.Errorf("grown %d times", n)
	}
	if !a.events.has("FileSystemResizeSuccessful") || !a.events.has("PersistentVolumeClaim data FileSystemResizeSuccessful") {
		t.Errorf("events %q", a.events.list)
	}
	must(t, a.Unmount(t.Context(), trace.Pod{UID: "u1"}))
}

func (l *lab) wantRegistered(t *testing.T) {
	t.Helper()
	n, err := l.api.StorageV1().CSINodes().Get(t.Context(), nodeName, metav1.GetOptions{})
	must(t, err)
	if len(n.Spec.Drivers) != 1 || n.Spec.Drivers[0].NodeID != nodeName || *n.Spec.Drivers[0].Allocatable.Count != 12 ||
		!slices.Equal(n.Spec.Drivers[0].TopologyKeys, []string{topologyKey}) || n.OwnerReferences[0].UID != "node-uid" {
		t.Errorf("CSINode %+v", n)
	}
	node, err := l.api.CoreV1().Nodes().Get(t.Context(), nodeName, metav1.GetOptions{})
	must(t, err)
	if node.Annotations["csi.volume.kubernetes.io/nodeid"] != fmt.Sprintf(`{%q:%q}`, driverName, nodeName) || node.Labels[topologyKey] != nodeName {
		t.Errorf("node %+v", node.ObjectMeta)
	}
}

// wantClean checks that nothing of the volume is left on the node.
func (l *lab) wantClean() {
	l.t.Helper()
	for _, pattern := range []string{"plugins/kubernetes.io/csi/" + driverName + "/*", "pods/*/volumes/kubernetes.io~csi/*", "pods/*/volumeDevices/*/*"} {
		if left, _ := filepath.Glob(filepath.Join(l.root, pattern)); len(left) > 0 {
			l.t.Errorf("left: %v", left)
		}
	}
}

func (l *lab) waitFor(what func() bool) {
	l.t.Helper()
	for range 2400 {
		if what() {
			return
		}
		time.Sleep(25 * time.Millisecond) // another process is waited for
	}
	l.t.Fatal("not within a minute")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
