package sim

import (
	"context"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RemoveContainer removes a container. If it runs, it is killed first. If it does not exist, nothing happens.
func (s *Server) RemoveContainer(ctx context.Context, r *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	return call(ctx, s, "RemoveContainer", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.RemoveContainerResponse, error) {
		c, err := s.lookupContainer(r.GetContainerId())
		if err == nil && c != nil {
			err = s.removeContainer(ctx, c)
		}
		if err != nil {
			return nil, err
		}
		return &runtimeapi.RemoveContainerResponse{}, nil
	})
}

func (s *Server) removeContainer(ctx context.Context, c *container) error {
	if err := s.stopContainer(ctx, c, 0); err != nil {
		return fmt.Errorf("failed to forcibly stop container %q: %w", c.id, err)
	}
	if err := s.beginRemove(c); err != nil {
		return fmt.Errorf("failed to set removing state for container %q: %w", c.id, err)
	}
	err := s.pause(ctx, "RemoveContainer")
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		c.removing = false
		return fmt.Errorf("failed to delete containerd container %q: %w", c.id, err)
	}
	delete(s.containers, c.id)
	delete(c.sandbox.containers, c.id)
	delete(s.containerNames, c.name)
	s.emit(runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT, c.id, c.sandbox)
	return nil
}

// beginRemove prevents other calls from starting or removing the container meanwhile.
func (s *Server) beginRemove(c *container) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.running():
		return errors.New("container is still running, to stop first")
	case c.starting:
		return errors.New("container is in starting state, can't be removed")
	case c.removing:
		return errors.New("container is already in removing state")
	}
	c.removing = true
	return nil
}
