package csi

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
	"github.com/kubeloupe/kubeloupe/trace"
)

// labelDriver is a driver on a socket. It logs its calls with their mount options, and creates the directories.
type labelDriver struct {
	csipb.UnimplementedNodeServer
	mu    sync.Mutex
	calls []string
}

func (d *labelDriver) log(call string, c *csipb.VolumeCapability) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, strings.TrimSpace(call+" "+strings.Join(c.GetMount().GetMountFlags(), ",")))
}

func (d *labelDriver) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.calls
	d.calls = nil
	return out
}

func (*labelDriver) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{NodeId: "n"}, nil
}

func (*labelDriver) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	return &csipb.NodeGetCapabilitiesResponse{Capabilities: []*csipb.NodeServiceCapability{{
		Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: canStage}},
	}}}, nil
}

func (d *labelDriver) NodeStageVolume(_ context.Context, r *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	d.log("stage", r.GetVolumeCapability())
	return &csipb.NodeStageVolumeResponse{}, nil
}

func (d *labelDriver) NodePublishVolume(_ context.Context, r *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	d.log("publish", r.GetVolumeCapability())
	return &csipb.NodePublishVolumeResponse{}, os.MkdirAll(r.GetTargetPath(), 0o750)
}

func (d *labelDriver) NodeUnpublishVolume(context.Context, *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	d.log("unpublish", nil)
	return &csipb.NodeUnpublishVolumeResponse{}, nil
}

func (d *labelDriver) NodeUnstageVolume(context.Context, *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	d.log("unstage", nil)
	return &csipb.NodeUnstageVolumeResponse{}, nil
}

// labelNode is a node with SELinux and the driver, whose agent can be restarted.
type labelNode struct {
	t      *testing.T
	root   string
	driver *labelDriver
	socket string
	api    *fake.Clientset
	pv     *v1.PersistentVolume
	// all is the gate SELinuxMount, without is set for a node without SELinux.
	all, without bool
	bus          *trace.Bus

	m    *volume.Manager
	p    *Plugin
	stop func()
}

func (n *labelNode) Resolve(context.Context, *v1.Pod, *v1.Volume) (*v1.PersistentVolumeClaim, *v1.PersistentVolume, error) {
	return &v1.PersistentVolumeClaim{}, n.pv, nil
}

func (*labelNode) Grow(context.Context, *v1.Pod, *v1.PersistentVolumeClaim, *v1.PersistentVolume, volume.GrowFunc) (*v1.PersistentVolumeClaim, error) {
	return nil, nil
}

func newLabelNode(t *testing.T, mode v1.PersistentVolumeAccessMode, labels bool) *labelNode {
	n := &labelNode{t: t, root: t.TempDir(), driver: &labelDriver{}, all: true}
	n.pv = &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{mode}, MountOptions: []string{"noatime"},
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}},
	}}
	n.api = fake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{
			AttachRequired: new(false), SELinuxMount: &labels, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		}})
	dir, err := os.MkdirTemp("", "csi") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	n.socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", n.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	csipb.RegisterNodeServer(s, n.driver)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return n
}

// start starts an agent; an earlier one ends.
func (n *labelNode) start() {
	n.t.Helper()
	if n.stop != nil {
		n.stop()
	}
	var err error
	if n.p, err = New(Config{RootDir: n.root, NodeName: "n", API: fakeapi.Of(n.api), Mounter: mount.NewFakeMounter(nil), Bus: n.bus}); err != nil {
		n.t.Fatal(err)
	}
	cfg := volume.Config{RootDir: n.root, Plugins: []volume.Plugin{n.p}, Claims: n, SELinuxAllModes: n.all, Bus: n.bus}
	if !n.without {
		cfg.SELinux = func(o *v1.SELinuxOptions) (string, error) {
			return "system_u:object_r:container_file_t:" + o.Level, nil
		}
	}
	if n.m, err = volume.New(cfg); err != nil {
		n.t.Fatal(err)
	}
	if err := n.p.Register(n.t.Context(), "d", n.socket, []string{"1.0.0"}); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	m := n.m
	go func() { done <- m.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(n.stop)
}

func levelPod(uid, level string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}, Spec: v1.PodSpec{
		SecurityContext: &v1.PodSecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: level}},
		Volumes:         []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}},
		Containers:      []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
	}}
}

func (n *labelNode) mount(obj *v1.Pod) {
	n.t.Helper()
	got, err := n.m.Mount(n.t.Context(), obj)
	if err != nil || len(got) != 1 {
		n.t.Errorf("mount of pod %s: %+v, %v", obj.Name, got, err)
	}
}

func (n *labelNode) unmount(uid string) {
	n.t.Helper()
	if err := n.m.Unmount(n.t.Context(), trace.Pod{UID: uid}); err != nil {
		n.t.Error(err)
	}
}

func (n *labelNode) called(want ...string) {
	n.t.Helper()
	if diff := cmp.Diff(want, n.driver.take()); diff != "" {
		n.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// noted returns the labels in the data files of the pod's volume and of the staged volume; "-" if the file has none.
func (n *labelNode) noted(uid string) string {
	n.t.Helper()
	at := []string{filepath.Join(n.root, "pods", uid, "volumes", "kubernetes.io~csi", "pv"), filepath.Dir(n.p.staging("d", "h"))}
	var out []string
	for _, dir := range at {
		text, err := os.ReadFile(filepath.Join(dir, "vol_data.json"))
		if err != nil {
			n.t.Fatal(err)
		}
		data := map[string]string{}
		if err := json.Unmarshal(text, &data); err != nil {
			n.t.Fatal(err)
		}
		label, ok := data["seLinuxMountContext"]
		if !ok {
			label = "-"
		}
		out = append(out, label)
	}
	return strings.Join(out, " ")
}

const (
	fileA = "system_u:object_r:container_file_t:s0:c1,c2"
	flagA = `noatime,context="` + fileA + `"`
	flagB = `noatime,context="system_u:object_r:container_file_t:s0:c3,c4"`
)

// A driver stages and publishes with the label as a mount option, and the label is in upstream's data files: a later agent adopts it.
func TestMountedWithLabel(t *testing.T) {
	n := newLabelNode(t, v1.ReadWriteMany, true)
	n.start()
	n.mount(levelPod("a", "s0:c1,c2"))
	n.called("stage "+flagA, "publish "+flagA)
	n.mount(levelPod("same", "s0:c1,c2"))
	n.called("publish " + flagA)
	if got := n.noted("a"); got != fileA+" "+fileA {
		t.Errorf("data files have %s", got)
	}
	// After a restart without the gate, volumes stay as they are mounted. For a new pod, the volume has to be unmounted.
	n.all = false
	n.start()
	n.mount(levelPod("a", "s0:c1,c2"))
	n.called("stage "+flagA, "publish "+flagA)
	n.mount(levelPod("same", "s0:c1,c2"))
	n.called("publish " + flagA)
	later := make(chan error, 1)
	go func() {
		_, err := n.m.Mount(t.Context(), levelPod("b", "s0:c3,c4"))
		later <- err
	}()
	n.unmount("a")
	n.unmount("same")
	if err := <-later; err != nil {
		t.Error(err)
	}
	n.called("unpublish", "unpublish", "unstage", "stage noatime", "publish noatime")
	if got := n.noted("b"); got != "- -" {
		t.Errorf("data files have %s", got)
	}
}

// A volume that is still staged with another label after a crash is staged again; one with the same label is not unstaged.
func TestStagedWithAnotherLabel(t *testing.T) {
	n := newLabelNode(t, v1.ReadWriteOncePod, true)
	n.all = false
	n.start()
	n.mount(levelPod("a", "s0:c1,c2"))
	crash := func() {
		n.stop()
		if err := os.RemoveAll(filepath.Join(n.root, "pods")); err != nil {
			t.Fatal(err)
		}
		n.driver.take()
		n.start()
	}
	crash()
	n.mount(levelPod("a2", "s0:c1,c2"))
	n.called("stage "+flagA, "publish "+flagA)
	crash()
	n.mount(levelPod("b", "s0:c3,c4"))
	n.called("unstage", "stage "+flagB, "publish "+flagB)
}

// Without SELinux, the gate, the driver's word, or with a policy of the pod, there is no label, in no file either.
func TestMountedWithoutLabel(t *testing.T) {
	for name, tc := range map[string]struct {
		mode         v1.PersistentVolumeAccessMode
		labels       bool
		all, without bool
		recursive    bool
	}{
		"no SELinux":             {mode: v1.ReadWriteOncePod, labels: true, all: true, without: true},
		"no gate":                {mode: v1.ReadWriteMany, labels: true},
		"the driver cannot":      {mode: v1.ReadWriteOncePod, all: true},
		"the pod wants no label": {mode: v1.ReadWriteOncePod, labels: true, all: true, recursive: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newLabelNode(t, tc.mode, tc.labels)
			n.all, n.without = tc.all, tc.without
			n.start()
			pod := levelPod("a", "s0:c1,c2")
			if tc.recursive {
				pod.Spec.SecurityContext.SELinuxChangePolicy = new(v1.SELinuxChangePolicyRecursive)
			}
			n.mount(pod)
			n.called("stage noatime", "publish noatime")
			if got := n.noted("a"); got != "- -" {
				t.Errorf("data files have %s", got)
			}
			want := 0
			if name == "no gate" {
				want = 1 // it would be admitted
			}
			counts := n.m.Counts().SELinux
			if len(counts) != want || want > 0 && counts[selinux.Count{Metric: selinux.Admitted, Plugin: "kubernetes.io/csi/d", Mode: "RWX"}] != want {
				t.Errorf("metrics %v", counts)
			}
		})
	}
}

// The runtime relabels files if the file system can have labels, and is not mounted with one.
func TestRelabels(t *testing.T) {
	for _, tc := range []struct {
		label, options string
		want           bool
	}{{"", "rw,seclabel", true}, {"", "rw,seclabels", false}, {"", "", false}, {fileA, "rw,seclabel", false}, {fileA, "rw,context=" + fileA, false}} {
		if got := relabels(false, tc.label, tc.options); got != tc.want {
			t.Errorf("label %q, options %q: %t", tc.label, tc.options, got)
		}
		if relabels(true, tc.label, tc.options) {
			t.Errorf("label %q, options %q: a read-only volume is relabeled", tc.label, tc.options)
		}
	}
}

// The options of the manifest are not changed.
func TestWithLabel(t *testing.T) {
	options := append(make([]string, 0, 4), "ro")
	got := withLabel(options, `a"b`)
	if !slices.Equal(got, []string{"ro", `context="a\"b"`}) || options[:2][1] != "" {
		t.Errorf("%q, %q", got, options[:2])
	}
	if got := withLabel(options, ""); !slices.Equal(got, options) {
		t.Errorf("%q", got)
	}
}
