package csi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// leisurely is a driver that takes most of the timeout for each call, or more than that.
type leisurely struct {
	csipb.NodeClient
	takes time.Duration
	calls []string
}

func (s *leisurely) call(ctx context.Context, name string) error {
	s.calls = append(s.calls, name)
	t := time.NewTimer(s.takes)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-t.C:
		return nil
	}
}

func (s *leisurely) NodeStageVolume(ctx context.Context, _ *csipb.NodeStageVolumeRequest, _ ...grpc.CallOption) (*csipb.NodeStageVolumeResponse, error) {
	return &csipb.NodeStageVolumeResponse{}, s.call(ctx, "stage")
}

func (s *leisurely) NodePublishVolume(ctx context.Context, r *csipb.NodePublishVolumeRequest, _ ...grpc.CallOption) (*csipb.NodePublishVolumeResponse, error) {
	if err := s.call(ctx, "publish"); err != nil {
		return nil, err
	}
	return &csipb.NodePublishVolumeResponse{}, os.MkdirAll(r.GetTargetPath(), 0o750)
}

func (s *leisurely) NodeUnpublishVolume(ctx context.Context, _ *csipb.NodeUnpublishVolumeRequest, _ ...grpc.CallOption) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, s.call(ctx, "unpublish")
}

func (s *leisurely) NodeUnstageVolume(ctx context.Context, _ *csipb.NodeUnstageVolumeRequest, _ ...grpc.CallOption) (*csipb.NodeUnstageVolumeResponse, error) {
	return &csipb.NodeUnstageVolumeResponse{}, s.call(ctx, "unstage")
}

// Each part of an operation has the whole timeout, and no more.
func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		err   bool
		calls []string
		took  time.Duration // of each operation
	}{
		{timeout - time.Second, false, []string{"stage", "publish", "unpublish", "unstage"}, 2*timeout - 2*time.Second},
		{timeout + time.Second, true, []string{"stage", "unpublish"}, timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlugin(t, fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{
				AttachRequired: new(false), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
			}}))
			node := &leisurely{takes: c.takes}
			p.drivers["d"] = &driver{name: "d", node: node, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canStage: true}}
			s := csiPV(func(*v1.PersistentVolume) {})
			s.Pod = &v1.Pod{}
			s.Place = volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u1", "volumes", "kubernetes.io~csi", "pv"), Name: "pv", PodUID: "u1"}
			began := time.Now()
			_, up := p.SetUp(t.Context(), s)
			middle := time.Now()
			down := p.TearDown(t.Context(), s.Place)
			if (up != nil) != c.err || (down != nil) != c.err || !slices.Equal(node.calls, c.calls) || middle.Sub(began) != c.took || time.Since(middle) != c.took {
				t.Errorf("calls of %v: %q in %v and %v, errors %v and %v", c.takes, node.calls, middle.Sub(began), time.Since(middle), up, down)
			}
		})
	}
}
