package sim

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RemovePodSandbox stops the sandbox, removes its containers and then the sandbox. If it does not exist, nothing
// happens.
func (s *Server) RemovePodSandbox(ctx context.Context, r *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	return call(ctx, s, "RemovePodSandbox", s.aboutSandbox(r.GetPodSandboxId()), func() (*runtimeapi.RemovePodSandboxResponse, error) {
		sb, err := s.lookupSandbox(r.GetPodSandboxId())
		if err == nil && sb != nil {
			err = s.removePodSandbox(ctx, sb)
		}
		if err != nil {
			return nil, err
		}
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	})
}

func (s *Server) removePodSandbox(ctx context.Context, sb *sandbox) error {
	s.mu.Lock()
	stopped := !sb.ready() && sb.ip == ""
	containers := sb.sortedContainers()
	s.mu.Unlock()
	if !stopped {
		if err := s.stopPodSandbox(ctx, sb); err != nil {
			return fmt.Errorf("failed to forcibly stop sandbox %q: %w", sb.id, err)
		}
	}
	for _, c := range containers {
		if err := s.removeContainer(ctx, c); err != nil {
			return fmt.Errorf("failed to remove container %q: %w", c.id, err)
		}
	}
	if err := s.pause(ctx, "RemovePodSandbox"); err != nil {
		return fmt.Errorf("failed to delete sandbox %q: %w", sb.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandboxes[sb.id] != sb {
		return nil // another call was faster
	}
	s.emit(runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT, sb.id, sb)
	delete(s.sandboxes, sb.id)
	delete(s.sandboxNames, sb.name)
	return nil
}
