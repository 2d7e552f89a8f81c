package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type versions struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (versions) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "fake"}, nil
}

// The relay passes calls on and counts each once, those that fail too.
func TestRelay(t *testing.T) {
	dir, err := os.MkdirTemp("", "relay") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, versions{})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	r, err := newRelay(t.Context(), filepath.Join(dir, "from"), filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	conn, err := grpc.NewClient("unix://"+r.path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := runtimeapi.NewRuntimeServiceClient(conn)
	for range 3 {
		if v, err := client.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil || v.GetRuntimeName() != "fake" {
			t.Fatalf("%v, %v", v, err)
		}
	}
	if _, err := client.Status(t.Context(), &runtimeapi.StatusRequest{}); err == nil {
		t.Error("a call that is not served succeeds")
	}
	if n := r.calls.Load(); n != 4 {
		t.Errorf("%d calls counted, want 4", n)
	}
}
