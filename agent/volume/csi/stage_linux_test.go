package csi

import (
	"context"
	"os"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes/fake"
)

// stages is a driver that counts the calls to stage.
type stages struct {
	csipb.NodeClient
	n int
}

func (s *stages) NodeStageVolume(context.Context, *csipb.NodeStageVolumeRequest, ...grpc.CallOption) (*csipb.NodeStageVolumeResponse, error) {
	s.n++
	return &csipb.NodeStageVolumeResponse{}, nil
}

// A volume is staged once, and again if others removed its staging path.
func TestStagedIsLookedAt(t *testing.T) {
	p := newPlugin(t, fake.NewClientset())
	node := &stages{}
	d := &driver{name: "d", node: node, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canStage: true}}
	for i, want := range []int{1, 1, 2, 2} {
		if i == 2 {
			if err := os.RemoveAll(p.staging("d", "h")); err != nil {
				t.Fatal(err)
			}
		}
		w := &work{p: p, v: vol{driver: "d", handle: "h", name: "pv"}, d: d}
		if err := w.stage(t.Context()); err != nil {
			t.Fatal(err)
		}
		if node.n != want {
			t.Errorf("look %d: it was staged %d times, want %d", i, node.n, want)
		}
	}
	p.setUnstaged("d^h")
	if p.isStaged("d^h", p.staging("d", "h")) {
		t.Error("unstaged is staged")
	}
}
