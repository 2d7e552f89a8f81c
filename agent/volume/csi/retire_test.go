package csi

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// staging is a driver that stages until it may end.
type staging struct {
	csipb.UnimplementedNodeServer
	began, end chan struct{}
}

func (*staging) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{NodeId: "n"}, nil
}

func (s *staging) NodeStageVolume(ctx context.Context, _ *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	s.began <- struct{}{}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.end:
		return &csipb.NodeStageVolumeResponse{}, nil
	}
}

// A call in progress is not interrupted when its driver registers again, or is deregistered, and its connection is closed afterwards.
func TestCallsOfDriversThatGo(t *testing.T) {
	dir, err := os.MkdirTemp("", "csi") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s, node := grpc.NewServer(), &staging{began: make(chan struct{}), end: make(chan struct{})}
	csipb.RegisterNodeServer(s, node)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	p := newPlugin(t, fake.NewClientset(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	register := func() *driver {
		if err := p.Register(t.Context(), "d", filepath.Join(dir, "s"), []string{"1.0.0"}); err != nil {
			t.Fatal(err)
		}
		d, err := p.driver("d")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, leaves := range map[string]func(){
		"registered again": func() { register() },
		"deregistered":     func() { p.Deregister(t.Context(), "d", filepath.Join(dir, "s")) },
	} {
		d := register()
		result := make(chan error)
		go func() {
			_, err := d.node.NodeStageVolume(t.Context(), &csipb.NodeStageVolumeRequest{})
			result <- err
		}()
		<-node.began
		leaves()
		if d.conn.GetState() == connectivity.Shutdown {
			t.Errorf("%s: the connection is closed during a call", name)
		}
		select {
		case node.end <- struct{}{}:
			err = <-result
		case err = <-result: // it was interrupted
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := d.conn.GetState(); got != connectivity.Shutdown {
			t.Errorf("%s: the connection is %v after the call", name, got)
		}
	}
	if d := register(); d.conn.GetState() == connectivity.Shutdown {
		t.Error("a registered driver has no connection")
	}
	idle := register()
	p.Deregister(t.Context(), "d", idle.endpoint)
	if got := idle.conn.GetState(); got != connectivity.Shutdown {
		t.Errorf("the connection of an idle driver is %v", got)
	}
}
