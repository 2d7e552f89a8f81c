package sim

import (
	"context"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ReopenContainerLog makes a running container write to a new log file, after its log was rotated.
func (s *Server) ReopenContainerLog(ctx context.Context, r *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	return quick(ctx, s, "ReopenContainerLog", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.ReopenContainerLogResponse, error) {
		c, err := s.findContainer(r.GetContainerId())
		if err != nil {
			return nil, fmt.Errorf("an error occurred when try to find container %q: %w", r.GetContainerId(), err)
		}
		if !c.running() {
			return nil, errors.New("container is not running")
		}
		return &runtimeapi.ReopenContainerLogResponse{}, c.log.Reopen()
	})
}
