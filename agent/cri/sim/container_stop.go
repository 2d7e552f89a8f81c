package sim

import (
	"context"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// StopContainer sends the stop signal, waits for the grace period in the request (seconds), and then kills. Without a grace period
// it kills immediately. It is no error if a container does not run or does not exist.
func (s *Server) StopContainer(ctx context.Context, r *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	return call(ctx, s, "StopContainer", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.StopContainerResponse, error) {
		c, err := s.lookupContainer(r.GetContainerId())
		if err == nil && c != nil {
			if err = s.pause(ctx, "StopContainer"); err == nil {
				err = s.stopContainer(ctx, c, time.Duration(r.GetTimeout())*time.Second)
			}
		}
		if err != nil {
			return nil, err
		}
		return &runtimeapi.StopContainerResponse{}, nil
	})
}

func (s *Server) stopContainer(ctx context.Context, c *container, grace time.Duration) error {
	s.mu.Lock()
	running, proc, again := c.running(), c.proc, c.stopping
	if running && grace > 0 {
		c.stopping = true
	}
	s.mu.Unlock()
	if !running {
		return nil
	}
	if grace > 0 {
		if !again { // the signal is sent once, however many calls there are
			proc.Signal(c.stopSignal())
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-c.exited:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	proc.Signal("KILL")
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("an error occurs during waiting for container %q to be killed: %w", c.id, ctx.Err())
	}
}
