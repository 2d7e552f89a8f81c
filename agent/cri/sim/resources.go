package sim

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UpdateContainerResources records new limits. Fields that are zero keep their values.
func (s *Server) UpdateContainerResources(ctx context.Context, r *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return quick(ctx, s, "UpdateContainerResources", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.UpdateContainerResourcesResponse, error) {
		c, err := s.findContainer(r.GetContainerId())
		if err != nil {
			return nil, fmt.Errorf("failed to find container: %w", err)
		}
		if c.removing {
			return nil, fmt.Errorf("failed to update resources: container %q is in removing state", c.id)
		}
		updated := proto.CloneOf(c.resources) // statuses that were returned share the old one
		if len(r.GetLinux().GetHugepageLimits()) > 0 {
			updated.HugepageLimits = nil // a new list replaces the old one; Merge would append
		}
		proto.Merge(updated, r.GetLinux())
		c.resources = updated
		return &runtimeapi.UpdateContainerResourcesResponse{}, nil
	})
}

// UpdatePodSandboxResources records the pod's resources, which a verbose status shows.
func (s *Server) UpdatePodSandboxResources(ctx context.Context, r *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return quick(ctx, s, "UpdatePodSandboxResources", s.aboutSandbox(r.GetPodSandboxId()), func() (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
		sb, err := s.findSandbox(r.GetPodSandboxId())
		if err != nil {
			return nil, fmt.Errorf("failed to find sandbox: %w", err)
		}
		sb.overhead, sb.resources = proto.CloneOf(r.GetOverhead()), proto.CloneOf(r.GetResources())
		return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
	})
}
