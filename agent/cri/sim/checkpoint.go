package sim

import (
	"context"
	"fmt"
	"os"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CheckpointContainer writes a file at the location of the request, in a directory that exists, as runtimes do. It is not an archive:
// nothing of a simulated container could be restored.
func (s *Server) CheckpointContainer(ctx context.Context, r *runtimeapi.CheckpointContainerRequest) (*runtimeapi.CheckpointContainerResponse, error) {
	return call(ctx, s, "CheckpointContainer", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.CheckpointContainerResponse, error) {
		if err := s.pause(ctx, "CheckpointContainer"); err != nil {
			return nil, err
		}
		if err := s.canCheckpoint(r.GetContainerId()); err != nil {
			return nil, err
		}
		if err := os.WriteFile(r.GetLocation(), fmt.Appendf(nil, "simulated checkpoint of %s\n", r.GetContainerId()), 0o600); err != nil {
			return nil, fmt.Errorf("failed to write the checkpoint: %w", err)
		}
		return &runtimeapi.CheckpointContainerResponse{}, nil
	})
}

func (s *Server) canCheckpoint(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findContainer(id)
	if err != nil {
		return fmt.Errorf("failed to find container %q: %w", id, err)
	}
	if !c.running() {
		return fmt.Errorf("container %q is in %s state: only running containers can be checkpointed", id, c.state())
	}
	return nil
}
