package runtimestate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// broken is a runtime whose network is ready until it breaks.
type broken struct {
	asked  int
	broken bool
}

func (b *broken) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	b.asked++
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: !b.broken},
	}}}, nil
}

func (b *broken) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{}, nil
}

func TestASandboxWithoutNetworkPromptsALook(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		looks bool
	}{
		{"a plugin fails", errors.New(`failed to setup network for sandbox "5f": plugin type="bridge" failed (add)`), true},
		{"no configuration", errors.New("cni plugin not initialized"), true},
		{"CRI-O", errors.New("failed to create pod network sandbox k8s_web: no addresses"), true},
		{"no runtime", status.Error(codes.Unavailable, "connection refused"), true},
		{"something else", errors.New("failed to create shim task: no such file"), false},
		{"nothing", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &broken{}
				state, err := New(b, nil)
				if err != nil {
					t.Fatal(err)
				}
				state.Check(t.Context())
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- state.Run(ctx) }()
				time.Sleep(time.Second) // of the 30 s until the next check
				b.broken = true
				state.SandboxFailed(c.err)
				synctest.Wait()
				if ok, _ := state.NetworkReady(); ok == c.looks || b.asked == 2 != c.looks {
					t.Errorf("the network is ready: %v, after %d looks", ok, b.asked)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
