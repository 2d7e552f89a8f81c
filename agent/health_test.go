package agent_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

const disks = "disk.example.com"

// diskDriver is a CSI driver that registers, and whose volume and backend are healthy or not.
type diskDriver struct {
	csipb.UnimplementedNodeServer
	registerapi.UnimplementedRegistrationServer
	socket  string
	healthy atomic.Bool
	asked   atomic.Pointer[csipb.NodeGetVolumeHealthRequest]
	// figures, if set, answers NodeGetVolumeStats.
	figures func(context.Context, *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error)
}

func (d *diskDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: disks, Endpoint: d.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

func (*diskDriver) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (*diskDriver) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{NodeId: "here"}, nil
}

func (d *diskDriver) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	out := &csipb.NodeGetCapabilitiesResponse{}
	caps := []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_GET_VOLUME_HEALTH, csipb.NodeServiceCapability_RPC_GET_STORAGE_HEALTH}
	if d.figures != nil {
		caps = append(caps, csipb.NodeServiceCapability_RPC_GET_VOLUME_STATS)
	}
	for _, c := range caps {
		out.Capabilities = append(out.Capabilities, &csipb.NodeServiceCapability{Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: c}}})
	}
	return out, nil
}

func (*diskDriver) NodePublishVolume(_ context.Context, r *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	return &csipb.NodePublishVolumeResponse{}, os.MkdirAll(r.GetTargetPath(), 0o750)
}

func (*diskDriver) NodeUnpublishVolume(_ context.Context, r *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, os.RemoveAll(r.GetTargetPath())
}

func (d *diskDriver) NodeGetVolumeHealth(_ context.Context, r *csipb.NodeGetVolumeHealthRequest) (*csipb.NodeGetVolumeHealthResponse, error) {
	d.asked.Store(r)
	out := &csipb.VolumeHealth{}
	if !d.healthy.Load() {
		out.HealthStatuses = []*csipb.VolumeHealth_VolumeHealthEntry{{Status: csipb.VolumeHealthErrorType_DEGRADED, Reason: "SlowDisk", Message: "1 of 2 paths"}}
	}
	return &csipb.NodeGetVolumeHealthResponse{VolumeHealth: out}, nil
}

func (d *diskDriver) NodeGetVolumeStats(ctx context.Context, r *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
	return d.figures(ctx, r)
}

func (d *diskDriver) NodeGetStorageHealth(context.Context, *csipb.NodeGetStorageHealthRequest) (*csipb.NodeGetStorageHealthResponse, error) {
	out := &csipb.NodeGetStorageHealthResponse{}
	if !d.healthy.Load() {
		out.BackendHealth = []*csipb.NodeGetStorageHealthResponse_StorageBackendHealth{{Status: csipb.StorageHealthErrorType_STORAGE_DEGRADED, Reason: "HalfDown"}}
	}
	return out, nil
}

// serve serves the driver in the registry of a host's agent until the test ends.
func (d *diskDriver) serve(h *host) {
	h.t.Helper()
	d.socket = filepath.Join(h.dir, "root", "plugins_registry", "disk.sock")
	l, err := (&net.ListenConfig{}).Listen(h.t.Context(), "unix", d.socket)
	if err != nil {
		h.t.Fatal(err)
	}
	srv := grpc.NewServer()
	csipb.RegisterNodeServer(srv, d)
	registerapi.RegisterRegistrationServer(srv, d)
	go func() { _ = srv.Serve(l) }()
	h.t.Cleanup(srv.Stop)
}

// claimed adds a bound claim and its volume to the API server, and a pod that uses it.
func (a *apiServer) claimed() *v1.Pod {
	p := podOf("web")
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}}}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	claim := v1.ObjectReference{Namespace: "default", Name: "disk", UID: "u-disk"}
	a.put("/api/v1/namespaces/default/persistentvolumeclaims/disk", &v1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "disk", UID: claim.UID},
		Spec: v1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	})
	a.put("/api/v1/persistentvolumes/pv-1", &v1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: v1.PersistentVolumeSpec{ClaimRef: &claim, PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: disks, VolumeHandle: "h-1"}}},
	})
	a.put("/apis/storage.k8s.io/v1/csidrivers/"+disks, &storagev1.CSIDriver{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}, ObjectMeta: metav1.ObjectMeta{Name: disks},
		Spec: storagev1.CSIDriverSpec{AttachRequired: new(false), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}},
	})
	a.put("/api/v1/namespaces/default/pods/"+p.Name, p)
	return p
}

func judged(subject string, v trace.Verdict) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByVolumes && d.Subject == subject && d.Verdict == v
	}
}

// patched matches a write of a pod's status that has all of these texts.
func patched(texts ...string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.StatusPatch)
		if !ok || r.Edge != trace.EdgeBegin {
			return false
		}
		for _, text := range texts {
			if !strings.Contains(e.Patch, text) {
				return false
			}
		}
		return true
	}
}

// With the feature gate, the health of a pod's volume is in its status and on the bus, and that of the driver's backend in the CSINode
// object and in the metric.
func TestVolumeHealth(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	p := api.claimed()
	n := run(t, h.config(append(flags, "--feature-gates", "CSIVolumeHealth=true", "--volume-stats-agg-period", "50ms", "--kube-api-content-type", "application/json")...))
	d := &diskDriver{}
	d.serve(h)
	n.source.Set(p)
	n.until("start", milestone("started", p))
	n.until("the pod's volume to be unhealthy", judged("volume data", trace.VerdictUnhealthy))
	n.until("the backend to be unhealthy", judged("storage backend of "+disks, trace.VerdictUnhealthy))
	n.until("the status", patched(`"volumeHealth":[{"healthConditions":[{"message":"1 of 2 paths","reason":"SlowDisk","status":"Degraded"}]`, `"name":"data"`))
	if r := d.asked.Load(); r.GetVolumeId() != "h-1" || !strings.HasSuffix(r.GetVolumePublishPath(), "/kubernetes.io~csi/pv-1/mount") || r.GetStagingTargetPath() != "" {
		t.Errorf("the driver was asked about %v", r)
	}
	if got := n.backends(); got != disks+" HalfDown StorageDegraded" {
		t.Errorf("the metric has %q", got)
	}
	api.stored(t, "HalfDown", true)
	d.healthy.Store(true)
	n.until("the pod's volume to be healthy", judged("volume data", trace.VerdictHealthy))
	n.until("the backend to be healthy", judged("storage backend of "+disks, trace.VerdictHealthy))
	api.stored(t, "HalfDown", false)
	if got := n.backends(); got != "" {
		t.Errorf("the metric has %q", got)
	}
	n.end()
}

// Without the feature gate, drivers are not asked.
func TestVolumeHealthIsOff(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	p := api.claimed()
	n := run(t, h.config(append(flags, "--volume-stats-agg-period", "1ms", "--kube-api-content-type", "application/json")...))
	d := &diskDriver{}
	d.serve(h)
	n.source.Set(p)
	n.until("start", milestone("started", p))
	n.end()
	if r := d.asked.Load(); r != nil {
		t.Errorf("the driver was asked about %v", r)
	}
}

// backends returns the series of the metric about backends.
func (n *node) backends() string {
	for _, f := range n.Measured(n.t.Context()) {
		if f.GetName() != "csi_node_storage_health_status" {
			continue
		}
		var out []string
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if m.GetGauge().GetValue() == 1 {
				out = append(out, labels["driver_name"]+" "+labels["reason"]+" "+labels["status"])
			}
		}
		return strings.Join(out, ", ")
	}
	return ""
}

// stored waits until the status of the CSINode object has, or has not, a text.
func (a *apiServer) stored(t *testing.T, text string, has bool) {
	t.Helper()
	var now string
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		a.mu.Lock()
		now = fmt.Sprint(a.objects["/apis/storage.k8s.io/v1/csinodes/node"]["status"])
		a.mu.Unlock()
		if strings.Contains(now, text) == has {
			return
		}
	}
	t.Fatalf("the CSINode object has the status %s, want %q in it: %v", now, text, has)
}
