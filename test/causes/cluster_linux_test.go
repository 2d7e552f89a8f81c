package causes_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestCluster needs a control plane: its pods come from the API server, and its controllers do what they do.
func TestCluster(t *testing.T) {
	ownnet.Need(t)
	n := cluster(t)
	t.Run("a finalizer", func(t *testing.T) { finalizer(t, n) })
	t.Run("an attachment that comes late", func(t *testing.T) { attachment(t, n) })
}

// finalizer holds the object of one pod of two.
func finalizer(t *testing.T, n *joined) {
	n.t = t
	n.create("held", func(p *v1.Pod) { p.Finalizers = []string{"kubeloupe.dev/test"} })
	n.create("free", nil)
	n.reached("held", "ready")
	n.reached("free", "ready")
	n.delete("held")
	n.delete("free")
	n.reached("free", "gone")
	n.silent("free", "KL17")
	var deleted int64
	n.until("the agent to delete the object", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.StatusPatch)
		deleted = r.Time
		return ok && e.Op == trace.PatchDelete && r.Edge == trace.EdgeEnd && r.Pod.Name == "held"
	})
	n.until("what is too long to pass", func(r *trace.Record) bool { return r.Time > deleted+int64(5500*time.Millisecond) })
	f := n.speaks("held", "KL17", "its termination is stuck in the API server, which still has the object")
	if !f.Current || f.Confidence != cause.Likely {
		t.Errorf("%+v", f)
	}
	_, err := n.client.CoreV1().Pods("default").Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.reached("held", "gone")
	if f := n.speaks("held", "KL17", "its termination was delayed by the API server, which still had the object"); f.Current || f.Cost < 5*time.Second {
		t.Errorf("%+v", f)
	}
}

const (
	driverName = "causes.csi.kubeloupe.dev"
	handle     = "vol-1"
)

// attachment has the attach-detach controller want a volume attached, and the driver's attacher, which is this test, take its time.
func attachment(t *testing.T, n *joined) {
	n.t = t
	driver(t, n)
	volumes(t, n)
	n.create("web", func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	})
	n.create("plain", nil)
	words, least := "for volume pv", time.Second
	if n.outside == nil {
		n.waits("web", trace.WaitAttach)
		words = "for volume pv: " + driverName + " has to attach " + handle
	}
	attached(t, n)
	n.reached("web", "ready")
	f := n.speaks("web", "KL10", words)
	if f.Cost < least {
		t.Errorf("%+v", f)
	}
	n.claimsLess("web", "KL11", time.Second)
	n.reached("plain", "ready")
	n.silent("plain", "KL10")
	n.delete("web")
	n.reached("web", "gone") // while the driver still runs
}

// driver runs a CSI driver, as a process, until the test ends.
func driver(t *testing.T, n *joined) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "csidriver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../lab/csidriver").CombinedOutput(); err != nil {
		t.Fatalf("build the CSI driver: %v: %s", err, out)
	}
	cmd := exec.CommandContext(context.Background(), program, "-name", driverName, "-node", lab.NodeName, "-data", dir,
		"-endpoint", filepath.Join(n.root, "csi.sock"), "-registration", filepath.Join(n.root, "plugins_registry", "csi-reg.sock"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	if n.outside != nil {
		eventually(t, "the driver to be registered", func() (bool, error) {
			node, err := n.client.StorageV1().CSINodes().Get(t.Context(), lab.NodeName, metav1.GetOptions{})
			return err == nil && len(node.Spec.Drivers) > 0, err
		})
		return
	}
	n.until("the driver to be registered", func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByPlugins && d.Verdict == trace.VerdictRegistered
	})
}

// volumes makes a claim and its volume, which has to be attached.
func volumes(t *testing.T, n *joined) {
	t.Helper()
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	_, err := n.client.StorageV1().CSIDrivers().Create(t.Context(), &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, none := context.Background(), metav1.DeleteOptions{}
		_ = n.client.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "data", none)
		_ = n.client.CoreV1().PersistentVolumes().Delete(ctx, "pv", none)
		_ = n.client.StorageV1().CSIDrivers().Delete(ctx, driverName, none)
	})
	_, err = n.client.CoreV1().PersistentVolumes().Create(t.Context(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: handle}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claims := n.client.CoreV1().PersistentVolumeClaims("default")
	_, err = claims.Create(t.Context(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec:       v1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: "pv", StorageClassName: new(""), Resources: v1.VolumeResourceRequirements{Requests: size}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim to be bound", func() (bool, error) {
		c, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
		return err == nil && c.Status.Phase == v1.ClaimBound, err
	})
}

// attached says, a second after the controller asked for it, that the volume is attached, as the driver's attacher would.
func attached(t *testing.T, n *joined) {
	t.Helper()
	all := n.client.StorageV1().VolumeAttachments()
	var va *storagev1.VolumeAttachment
	eventually(t, "the attach-detach controller to want the volume attached", func() (bool, error) {
		list, err := all.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		va = &list.Items[0]
		return strings.HasPrefix(va.Name, "csi-"), nil
	})
	time.Sleep(1100 * time.Millisecond) // the condition is that it takes time
	va.Status.Attached = true
	if _, err := all.UpdateStatus(t.Context(), va, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something that only the API server tells of.
func eventually(t *testing.T, what string, done func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		ok, err := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come (%v)", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
