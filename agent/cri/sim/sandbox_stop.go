package sim

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// StopPodSandbox kills the sandbox's containers, stops it and releases its address. It can be called again, and for
// sandboxes that do not exist.
func (s *Server) StopPodSandbox(ctx context.Context, r *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	return call(ctx, s, "StopPodSandbox", s.aboutSandbox(r.GetPodSandboxId()), func() (*runtimeapi.StopPodSandboxResponse, error) {
		sb, err := s.lookupSandbox(r.GetPodSandboxId())
		if err == nil && sb != nil {
			err = s.stopPodSandbox(ctx, sb)
		}
		if err != nil {
			return nil, err
		}
		return &runtimeapi.StopPodSandboxResponse{}, nil
	})
}

func (s *Server) stopPodSandbox(ctx context.Context, sb *sandbox) error {
	s.mu.Lock()
	containers := sb.sortedContainers()
	s.mu.Unlock()
	for _, c := range containers {
		if err := s.stopContainer(ctx, c, 0); err != nil {
			return fmt.Errorf("failed to stop container %q: %w", c.id, err)
		}
	}
	if err := s.pause(ctx, "StopPodSandbox"); err != nil {
		return fmt.Errorf("failed to stop sandbox %q: %w", sb.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxExited(sb)
	s.ips.release(sb.ip)
	sb.ip = ""
	return nil
}

// lookupSandbox returns the sandbox; nil if it does not exist.
func (s *Server) lookupSandbox(id string) (*sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lookup(s.sandboxes, "sandbox", id)
}

// aboutSandbox returns the subject of a call about a pod, for faults.
func (s *Server) aboutSandbox(id string) subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sb, err := s.findSandbox(id); err == nil {
		return sb.subject()
	}
	return subject{}
}
