package sim

import (
	"context"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RuntimeName is the name that Version reports, so that the simulation is not mistaken for a real runtime.
const RuntimeName = "kubeloupe-sim"

// Version returns the runtime's name and version.
func (s *Server) Version(ctx context.Context, _ *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return quick(ctx, s, "Version", subject{}, func() (*runtimeapi.VersionResponse, error) {
		return &runtimeapi.VersionResponse{
			Version: "0.1.0", RuntimeName: RuntimeName, RuntimeVersion: s.cfg.Version, RuntimeApiVersion: "v1",
		}, nil
	})
}

// Status reports the conditions, which SetCondition changes, and the runtime handlers with the features of runc.
func (s *Server) Status(ctx context.Context, r *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return quick(ctx, s, "Status", subject{}, func() (*runtimeapi.StatusResponse, error) {
		resp := &runtimeapi.StatusResponse{
			Status:   &runtimeapi.RuntimeStatus{Conditions: slices.Clone(s.conditions)},
			Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true, UserNamespacesHostNetwork: true},
		}
		for _, name := range append([]string{""}, s.cfg.RuntimeHandlers...) {
			resp.RuntimeHandlers = append(resp.RuntimeHandlers, &runtimeapi.RuntimeHandler{
				Name: name, Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true},
			})
		}
		var err error
		if r.GetVerbose() {
			resp.Info, err = verbose(map[string]any{"simulated": true})
		}
		return resp, err
	})
}

// RuntimeConfig returns the cgroup driver.
func (s *Server) RuntimeConfig(ctx context.Context, _ *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return quick(ctx, s, "RuntimeConfig", subject{}, func() (*runtimeapi.RuntimeConfigResponse, error) {
		return &runtimeapi.RuntimeConfigResponse{
			Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS},
		}, nil
	})
}

// UpdateRuntimeConfig accepts a pod CIDR and does not change addresses.
func (s *Server) UpdateRuntimeConfig(ctx context.Context, _ *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return quick(ctx, s, "UpdateRuntimeConfig", subject{}, func() (*runtimeapi.UpdateRuntimeConfigResponse, error) {
		return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
	})
}
