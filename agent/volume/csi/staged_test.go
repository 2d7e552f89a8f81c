package csi

import (
	"context"
	"errors"
	"io/fs"
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

// stuck is a driver that cannot unstage volumes while busy is set.
type stuck struct {
	leisurely
	busy error
}

func (s *stuck) NodeUnstageVolume(ctx context.Context, r *csipb.NodeUnstageVolumeRequest, _ ...grpc.CallOption) (*csipb.NodeUnstageVolumeResponse, error) {
	_, err := s.leisurely.NodeUnstageVolume(ctx, r)
	return &csipb.NodeUnstageVolumeResponse{}, errors.Join(err, s.busy)
}

// A volume that the driver cannot unstage is no volume of its pod any more. A later attempt unstages it only if no pod has it by then, also
// the same pod.
func TestStaysStaged(t *testing.T) {
	for _, again := range []bool{false, true} {
		p := newPlugin(t, fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{
			AttachRequired: new(false), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		}}))
		node := &stuck{busy: errors.New("busy")}
		p.drivers["d"] = &driver{name: "d", node: node, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canStage: true}}
		s := csiPV(func(*v1.PersistentVolume) {})
		s.Pod = &v1.Pod{}
		s.Place = volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u1", "volumes", "kubernetes.io~csi", "pv"), Name: "pv", PodUID: "u1"}
		up := func() {
			if _, err := p.SetUp(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		up()
		left, ok := errors.AsType[*volume.StagedError](p.TearDown(t.Context(), s.Place))
		if !ok {
			t.Fatal("the pod has the volume still")
		}
		if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the pod's directory: %v", err)
		}
		if err := left.Again(t.Context()); err == nil {
			t.Error("unstaged while the driver cannot")
		}
		node.busy = nil
		if again {
			up()
		}
		before := len(node.calls)
		if err := left.Again(t.Context()); err != nil || (len(node.calls) > before) == again {
			t.Errorf("mounted again %t: %v, calls %q", again, err, node.calls)
		}
		if _, err := os.Stat(p.staging(s.PV.Spec.CSI.Driver, s.PV.Spec.CSI.VolumeHandle)); (err == nil) != again {
			t.Errorf("mounted again %t: staging directory: %v", again, err)
		}
	}
}
