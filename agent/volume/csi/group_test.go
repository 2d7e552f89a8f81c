package csi

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// renewing is a driver that writes a new file whenever it publishes a volume.
type renewing struct{ csipb.NodeClient }

func (renewing) NodePublishVolume(_ context.Context, r *csipb.NodePublishVolumeRequest, _ ...grpc.CallOption) (*csipb.NodePublishVolumeResponse, error) {
	if err := os.MkdirAll(r.GetTargetPath(), 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(r.GetTargetPath(), "token")
	_ = os.Remove(path)
	return &csipb.NodePublishVolumeResponse{}, os.WriteFile(path, nil, 0o600)
}

// Files that a driver writes when it publishes a volume again are the pod's group's, too.
func TestGroupOfRepublishedFiles(t *testing.T) {
	republish, policy := true, storagev1.FileFSGroupPolicy
	p := newPlugin(t, fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{
		AttachRequired: new(false), RequiresRepublish: &republish, FSGroupPolicy: &policy,
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral},
	}}))
	p.drivers["d"] = &driver{name: "d", node: renewing{}, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{}}
	s := csiInline(func(*v1.CSIVolumeSource) {})
	s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(os.Getgid()))}
	s.Place = volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u1", "volumes", "kubernetes.io~csi", "data"), Name: "data", PodUID: "u1"}
	for _, s.Refresh = range []bool{false, true} {
		out, err := p.SetUp(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(out.HostPath, "token"))
		if err != nil || info.Mode().Perm() != 0o660 {
			t.Errorf("published again %t: %v, %v: want a file that the group can write", s.Refresh, info, err)
		}
	}
}
