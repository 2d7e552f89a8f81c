package cgroup

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The runtime may not be ready yet when it is asked.
const (
	driverTries = 3
	driverPause = 2 * time.Second
)

// RuntimeConfig is the part of the CRI that tells the runtime's cgroup driver.
type RuntimeConfig interface {
	RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest, ...grpc.CallOption) (*runtimeapi.RuntimeConfigResponse, error)
}

// RuntimeDriver returns the driver that the runtime uses; "" if the runtime is too old to tell. It tries a call that
// fails three times.
//
// Upstream: cmd/kubelet/app/server.go, getCgroupDriverFromCRI (KEP-4033).
func RuntimeDriver(ctx context.Context, runtime RuntimeConfig) (Driver, error) {
	for try := 1; ; try++ {
		r, err := runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
		switch {
		case err == nil:
			return driverIn(r)
		case status.Code(err) == codes.Unimplemented:
			return "", nil
		case try == driverTries:
			return "", fmt.Errorf("ask the runtime for its cgroup driver, %d times: %w\n  remedy: find out why the runtime does not answer RuntimeConfig, for example with crictl info and in its log", try, err)
		}
		t := time.NewTimer(driverPause)
		select {
		case <-ctx.Done():
			t.Stop()
			return "", context.Cause(ctx)
		case <-t.C:
		}
	}
}

func driverIn(r *runtimeapi.RuntimeConfigResponse) (Driver, error) {
	if r.GetLinux() == nil {
		return "", nil // its zero value would be systemd
	}
	switch d := r.GetLinux().GetCgroupDriver(); d {
	case runtimeapi.CgroupDriver_SYSTEMD:
		return Systemd, nil
	case runtimeapi.CgroupDriver_CGROUPFS:
		return Cgroupfs, nil
	default:
		return "", fmt.Errorf("the runtime has the unknown cgroup driver %d; want systemd or cgroupfs", d)
	}
}
