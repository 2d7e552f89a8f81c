package csi

import (
	"context"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// expander is a driver whose expansions end with a code.
type expander struct {
	csipb.NodeClient
	code codes.Code
	got  *csipb.NodeExpandVolumeRequest
}

func (e *expander) NodeExpandVolume(_ context.Context, r *csipb.NodeExpandVolumeRequest, _ ...grpc.CallOption) (*csipb.NodeExpandVolumeResponse, error) {
	e.got = r
	return &csipb.NodeExpandVolumeResponse{}, status.Error(e.code, "no")
}

// The errors have upstream's text, and also a driver that does not stage gets the path where it would.
func TestExpand(t *testing.T) {
	const failed = "Expander.NodeExpand failed to expand the volume "
	for _, c := range []struct {
		can  bool
		code codes.Code
		want string
	}{
		{true, codes.OK, ""},
		{false, codes.OK, "NodeExpand is not supported by the CSI driver d"},
		{true, codes.OutOfRange, failed + "rpc error: code = OutOfRange desc = no"},
		{true, codes.FailedPrecondition, failed + ": rpc error: code = FailedPrecondition desc = no"},
		{true, codes.Aborted, failed + ": rpc error: code = Aborted desc = no"},
	} {
		p, d := newPlugin(t, fake.NewClientset()), &expander{code: c.code}
		p.drivers["d"] = &driver{name: "d", node: d, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canExpand: c.can}}
		pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{
			CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"},
		}}}
		done, err := p.Expand(t.Context(), volume.Spec{PV: pv}, resource.MustParse("2Gi"))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if done != (c.want == "") || text != c.want || done && d.got.GetStagingTargetPath() != p.staging("d", "h") {
			t.Errorf("%+v: %t, %q, %v", c, done, text, d.got)
		}
	}
}
