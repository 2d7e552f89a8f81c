package cgroup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
)

// answers are a runtime's answers to one call after the other.
type answers struct {
	errs  []error
	last  *runtimeapi.RuntimeConfigResponse
	calls int
}

func (a *answers) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest, ...grpc.CallOption) (*runtimeapi.RuntimeConfigResponse, error) {
	a.calls++
	if a.calls <= len(a.errs) {
		return nil, a.errs[a.calls-1]
	}
	return a.last, nil
}

func tells(d runtimeapi.CgroupDriver) *runtimeapi.RuntimeConfigResponse {
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: d}}
}

func TestRuntimeDriver(t *testing.T) {
	busy := status.Error(codes.Unavailable, "starting")
	none := fmt.Errorf("call: %w", status.Error(codes.Unimplemented, "unknown method"))
	for _, c := range []struct {
		name  string
		a     answers
		want  cgroup.Driver
		err   string
		calls int
		took  time.Duration
	}{
		{"systemd", answers{last: tells(runtimeapi.CgroupDriver_SYSTEMD)}, cgroup.Systemd, "", 1, 0},
		{"cgroupfs", answers{last: tells(runtimeapi.CgroupDriver_CGROUPFS)}, cgroup.Cgroupfs, "", 1, 0},
		{"not Linux", answers{last: &runtimeapi.RuntimeConfigResponse{}}, "", "", 1, 0},
		{"an old runtime", answers{errs: []error{none}}, "", "", 1, 0},
		{"starts", answers{errs: []error{busy, busy}, last: tells(runtimeapi.CgroupDriver_SYSTEMD)}, cgroup.Systemd, "", 3, 4 * time.Second},
		{"starts and is old", answers{errs: []error{busy, none}}, "", "", 2, 2 * time.Second},
		{"does not answer", answers{errs: []error{busy, busy, busy}}, "", "3 times: rpc error: code = Unavailable", 3, 4 * time.Second},
		{"another driver", answers{last: tells(7)}, "", "unknown cgroup driver 7", 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			got, err := cgroup.RuntimeDriver(t.Context(), &c.a)
			if got != c.want || (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			if took := time.Since(begin); c.a.calls != c.calls || took != c.took {
				t.Errorf("%s: %d calls in %v, want %d in %v", c.name, c.a.calls, took, c.calls, c.took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := cgroup.RuntimeDriver(ctx, &answers{errs: []error{busy, busy, busy}}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v when the agent ends", err)
		}
	})
}
