package csi

import (
	"errors"
	"fmt"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
)

func TestAccessMode(t *testing.T) {
	for _, c := range []struct {
		mode  v1.PersistentVolumeAccessMode
		multi bool
		want  string
	}{
		{v1.ReadWriteOnce, false, "SINGLE_NODE_WRITER"},
		{v1.ReadWriteOnce, true, "SINGLE_NODE_MULTI_WRITER"},
		{v1.ReadWriteOncePod, false, "SINGLE_NODE_WRITER"},
		{v1.ReadWriteOncePod, true, "SINGLE_NODE_SINGLE_WRITER"},
		{v1.ReadOnlyMany, false, "MULTI_NODE_READER_ONLY"},
		{v1.ReadWriteMany, true, "MULTI_NODE_MULTI_WRITER"},
		{"", false, "UNKNOWN"},
	} {
		if got := accessMode(c.mode, c.multi).String(); got != c.want {
			t.Errorf("%q, driver has SINGLE_NODE_MULTI_WRITER %t: got %s, want %s", c.mode, c.multi, got, c.want)
		}
	}
}

// What a call created is removed only when the call has certainly ended.
func TestFinal(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.Canceled: false, codes.DeadlineExceeded: false, codes.Unavailable: false, codes.ResourceExhausted: false, codes.Aborted: false,
		codes.Internal: true, codes.InvalidArgument: true, codes.NotFound: true, codes.Unknown: true,
	} {
		if got := final(status.Error(code, "failed")); got != want {
			t.Errorf("%s: got final %t, want %t", code, got, want)
		}
	}
}

// A driver that is not registered now has not refused to expand a volume: nothing is written to the claim.
func TestExpandWithoutDriver(t *testing.T) {
	p := newPlugin(t, fake.NewClientset())
	done, err := p.Expand(t.Context(), csiPV(func(*v1.PersistentVolume) {}), resource.MustParse("2Gi"))
	if want := "driver name d not found in the list of registered CSI drivers"; done || err == nil || err.Error() != want || final(err) {
		t.Errorf("%t, %v, final %t; want %s", done, err, final(err), want)
	}
}

func csiPV(change func(*v1.PersistentVolume)) volume.Spec {
	pv := &v1.PersistentVolume{}
	pv.Name = "pv"
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h", FSType: "xfs"}
	change(pv)
	return volume.Spec{PV: pv, Pod: &v1.Pod{}}
}

func csiInline(change func(*v1.CSIVolumeSource)) volume.Spec {
	src := &v1.CSIVolumeSource{Driver: "d"}
	change(src)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
	return volume.Spec{Pod: pod, Place: volume.Place{PodUID: pod.UID}, Volume: &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{CSI: src}}}
}

func TestVolumeOfSpec(t *testing.T) {
	yes, ext4 := true, "ext4"
	for _, c := range []struct {
		name string
		spec volume.Spec
		want string
	}{
		{"persistent", csiPV(func(*v1.PersistentVolume) {}), "d^h pv Persistent xfs ReadWriteOnce readOnly=false secret=nil"},
		{"first mode", csiPV(func(pv *v1.PersistentVolume) {
			pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany, v1.ReadWriteOnce}
		}), "d^h pv Persistent xfs ReadOnlyMany readOnly=false secret=nil"},
		{"no handle", csiPV(func(pv *v1.PersistentVolume) { pv.Spec.CSI.VolumeHandle = "" }), "persistent volume pv: spec.csi needs driver and volumeHandle"},
		{"inline", csiInline(func(s *v1.CSIVolumeSource) {
			s.ReadOnly, s.FSType, s.NodePublishSecretRef = &yes, &ext4, &v1.LocalObjectReference{Name: "s"}
		}), "d^" + inlineHandle("u1", "data") + " data Ephemeral ext4 ReadWriteOnce readOnly=true secret=&SecretReference{Name:s,Namespace:shop,}"},
		{"inline without driver", csiInline(func(s *v1.CSIVolumeSource) { s.Driver = "" }), "volume data: csi.driver is empty"},
	} {
		v, err := volOf(c.spec)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %s %s %s readOnly=%t secret=%v", v.id(), v.name, v.lifecycle(), v.fsType, v.mode, v.readOnly, v.publishSecret)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A volume in the pod of a type that the driver has now is persistent, and controllers have the same name for it.
func TestVolumeOfMigrated(t *testing.T) {
	pv, err := migrate.Inline(&v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", FSType: "ext4"}}}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	s := volume.Spec{PV: pv, Pod: &v1.Pod{}}
	v, err := volOf(s)
	if err != nil || v.ephemeral || v.fsType != "ext4" || !(*csiDriver)(nil).groups(v) {
		t.Errorf("%+v, error %v", v, err)
	}
	if name, err := newPlugin(t, fake.NewClientset()).AttachName(t.Context(), s); err != nil || name != "kubernetes.io/csi/ebs.csi.aws.com^vol-1" {
		t.Errorf("attached as %s, error %v", name, err)
	}
}

func TestLifecycleModes(t *testing.T) {
	both := &csiDriver{&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{"Persistent", "Ephemeral"}}}}
	persistent := &csiDriver{&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{"Persistent"}}}}
	for _, c := range []struct {
		info      *csiDriver
		ephemeral bool
		want      string
	}{
		{nil, false, "<nil>"},
		{nil, true, `volume mode "Ephemeral" not supported by driver d (no CSIDriver object)`},
		{both, true, "<nil>"},
		{persistent, false, "<nil>"},
		{persistent, true, `volume mode "Ephemeral" not supported by driver d (only supports ["Persistent"])`},
	} {
		if got := fmt.Sprint(c.info.supports(vol{driver: "d", ephemeral: c.ephemeral})); got != c.want {
			t.Errorf("ephemeral %t: got %s, want %s", c.ephemeral, got, c.want)
		}
	}
}

func TestAttachment(t *testing.T) {
	v := vol{driver: "d", handle: "h", name: "pv"}
	for _, c := range []struct {
		name string
		va   func(*storagev1.VolumeAttachment)
		err  error
		want string
	}{
		{name: "attached", va: func(va *storagev1.VolumeAttachment) {
			va.Status.Attached, va.Status.AttachmentMetadata = true, map[string]string{"path": "/dev/x"}
		}, want: "map[path:/dev/x] <nil>"},
		{name: "not yet", va: func(*storagev1.VolumeAttachment) {}, want: "map[] <nil>"},
		{name: "failed", va: func(va *storagev1.VolumeAttachment) {
			va.Status.AttachError = &storagev1.VolumeError{Message: "no such disk"}
		}, want: "map[] no such disk"},
		{name: "is deleted", va: func(va *storagev1.VolumeAttachment) {
			va.Status.Attached, va.DeletionTimestamp = true, &metav1.Time{Time: time.Unix(1, 0)}
		}, want: "map[] volume attachment is being deleted"},
		{name: "not there", err: apierrors.NewNotFound(schema.GroupResource{}, "x"), want: "map[] <nil>"},
		{name: "unknown to the authorizer", err: apierrors.NewForbidden(schema.GroupResource{}, "x", nil), want: "map[] <nil>"},
		{name: "API down", err: errors.New("down"), want: "map[] volume h has GET error for volume attachment " + v.attachment("n") + ": down"},
	} {
		va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: v.attachment("n")}}
		if c.va != nil {
			c.va(va)
		}
		api := fake.NewClientset(va)
		if c.err != nil {
			api.PrependReactor("get", "volumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		}
		found, err := newPlugin(t, api).attachment(t.Context(), v, v.attachment("n"))
		if got := fmt.Sprint(publishContext(found), " ", err); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPublishRequest(t *testing.T) {
	api := fake.NewClientset(&v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s"}, Data: map[string][]byte{"user": []byte("me")}})
	yes := true
	s := csiInline(func(src *v1.CSIVolumeSource) {
		src.ReadOnly, src.VolumeAttributes, src.NodePublishSecretRef = &yes, map[string]string{"size": "1"}, &v1.LocalObjectReference{Name: "s"}
	})
	s.Pod.Spec.ServiceAccountName = "robot"
	v, err := volOf(s)
	if err != nil {
		t.Fatal(err)
	}
	info := &csiDriver{&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{PodInfoOnMount: &yes}}}
	w := &work{p: newPlugin(t, api), d: &driver{name: "d", caps: map[csipb.NodeServiceCapability_RPC_Type]bool{}}, v: v, spec: s, info: info, staged: "/staged", attached: map[string]string{"path": "/dev/x"}}
	got, err := w.publishRequest(t.Context(), "/target")
	if err != nil {
		t.Fatal(err)
	}
	want := &csipb.NodePublishVolumeRequest{
		VolumeId: inlineHandle("u1", "data"), TargetPath: "/target", StagingTargetPath: "/staged", Readonly: true,
		PublishContext: map[string]string{"path": "/dev/x"}, Secrets: map[string]string{"user": "me"},
		VolumeContext: map[string]string{
			"size": "1", "csi.storage.k8s.io/pod.name": "web", "csi.storage.k8s.io/pod.namespace": "shop", "csi.storage.k8s.io/pod.uid": "u1",
			"csi.storage.k8s.io/serviceAccount.name": "robot", "csi.storage.k8s.io/ephemeral": "true",
		},
		VolumeCapability: &csipb.VolumeCapability{
			AccessMode: &csipb.VolumeCapability_AccessMode{Mode: csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
			AccessType: &csipb.VolumeCapability_Mount{Mount: &csipb.VolumeCapability_MountVolume{}},
		},
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if len(v.attributes) != 1 {
		t.Errorf("the attributes of the manifest were changed: %v", v.attributes)
	}
}

// The messages of what is missing are upstream's: they become the pod's Event.
func TestMissing(t *testing.T) {
	ref := &v1.SecretReference{Namespace: "shop", Name: "s"}
	const gone = `: kubernetes.io/csi: failed to find the secret s in the namespace shop with error: secrets "s" not found`
	const absent = ": driver name d not found in the list of registered CSI drivers"
	spec := csiPV(func(*v1.PersistentVolume) {})
	spec.Pod = &v1.Pod{}
	device, inline := spec, spec
	device.Block = true
	inline.PV, inline.Volume = nil, &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}}
	begin := func(s volume.Spec, d *driver) func(w *work) error {
		return func(w *work) error {
			if d != nil {
				w.p.drivers["d"] = d
			}
			_, err := w.p.begin(t.Context(), s)
			return err
		}
	}
	publish := func(w *work) error { _, err := w.publishRequest(t.Context(), "/t"); return err }
	for _, c := range []struct {
		name string
		spec volume.Spec
		do   func(w *work) error
		want string
	}{
		{"to stage", spec, func(w *work) error { return w.stage(t.Context()) }, "fetching NodeStageSecretRef shop/s failed" + gone},
		{"to stage a device", device, func(w *work) error { return w.stageBlock(t.Context()) }, "kubernetes.io/csi: failed to get NodeStageSecretRef shop/s" + gone},
		{"to publish", spec, publish, "fetching NodePublishSecretRef shop/s failed" + gone},
		{"to publish a device", device, publish, "kubernetes.io/csi: blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef shop/s" + gone},
		{"to expand", spec, func(w *work) error {
			_, err := w.p.expand(t.Context(), w.d, w.v, spec, resource.Quantity{})
			return err
		}, "expander.NodeExpand failed to get NodeExpandSecretRef shop/s" + gone},
		{"the driver", spec, begin(spec, nil), "MountVolume.MountDevice failed: kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient" + absent},
		{"the driver of a device", spec, begin(device, nil), "MapVolume.SetUpDevice failed: kubernetes.io/csi: blockMapper.SetUpDevice failed to get CSI client" + absent},
		{"the driver of an inline volume", spec, begin(inline, nil), "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client" + absent},
		{"the mode", spec, begin(inline, &driver{name: "d"}), `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver d (no CSIDriver object)`},
	} {
		p := newPlugin(t, fake.NewClientset())
		d := &driver{name: "d", caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canStage: true, canExpand: true}}
		w := &work{p: p, spec: c.spec, d: d, v: vol{driver: "d", handle: "h", name: "pv", stageSecret: ref, publishSecret: ref, expandSecret: ref}}
		if err := c.do(w); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// As upstream's, the request to publish a block volume has the staging path, also if the driver does not stage.
func TestStagingPathOfBlockVolumes(t *testing.T) {
	s := csiPV(func(*v1.PersistentVolume) {})
	s.Block = true
	v, err := volOf(s)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlugin(t, fake.NewClientset())
	w := &work{p: p, d: &driver{name: "d", caps: map[csipb.NodeServiceCapability_RPC_Type]bool{}}, v: v, spec: s}
	if err := w.stageBlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := w.publishRequest(t.Context(), "/target")
	if err != nil || got.GetStagingTargetPath() != p.blockStaging("pv") {
		t.Errorf("%v, %v", got, err)
	}
}
