package sim_test

import (
	"context"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/test/crisuite"
)

// serve runs a server on a socket and returns a connection to it. Both end with the test.
func serve(t testing.TB, srv *sim.Server) *grpc.ClientConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sim.sock")
	lis, err := sim.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, lis) }()
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	return conn
}

// TestSuite runs the suite that containerd passes too.
func TestSuite(t *testing.T) {
	images := sim.DefaultImages()
	srv, err := sim.New(sim.Config{Images: images, PullBandwidth: -1})
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, srv)
	crisuite.Run(t, crisuite.Target{
		Runtime: runtimeapi.NewRuntimeServiceClient(conn),
		Image:   runtimeapi.NewImageServiceClient(conn),
		Busybox: "docker.io/library/busybox:1.37",
		Spare:   "docker.io/library/nginx:latest",
		LogDir:  t.TempDir(),
	})
}
