// Package simtest serves a simulated runtime to tests.
//
// It owns the socket, the server's goroutine and the connection, all of which end with
// the test. It publishes nothing.
package simtest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

// Serve runs a server on a socket and returns a connection to it. Both end with the test.
func Serve(t testing.TB, srv *sim.Server) *grpc.ClientConn {
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
		cancel()
		t.Fatal(errors.Join(err, <-served))
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
