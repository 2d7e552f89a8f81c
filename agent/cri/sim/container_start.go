package sim

import (
	"context"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim/internal/script"
)

// StartContainer starts a container that was created and never started. A container that fails to start is in the
// exited state with code 128 and reason StartError.
func (s *Server) StartContainer(ctx context.Context, r *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	return call(ctx, s, "StartContainer", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.StartContainerResponse, error) {
		c, err := s.beginStart(r.GetContainerId())
		if err != nil {
			return nil, err
		}
		err = s.pause(ctx, "StartContainer")
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			err = s.startContainer(c)
		}
		c.starting = false
		if err != nil {
			c.finishedAt, c.exitCode = now(), startErrorCode
			c.reason, c.message = reasonStartError, err.Error()
			return nil, err
		}
		return &runtimeapi.StartContainerResponse{}, nil
	})
}

// beginStart prevents other calls from starting or removing the container meanwhile.
func (s *Server) beginStart(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findContainer(id)
	if err != nil {
		return nil, fmt.Errorf("an error occurred when try to find container %q: %w", id, err)
	}
	switch {
	case c.state() != runtimeapi.ContainerState_CONTAINER_CREATED:
		err = fmt.Errorf("container is in %s state", c.state())
	case c.removing:
		err = errors.New("container is in removing state, can't be started")
	case c.starting:
		err = errors.New("container is already in starting state")
	}
	if err != nil {
		return nil, fmt.Errorf("failed to set starting state for container %q: %w", c.id, err)
	}
	c.starting = true
	return c, nil
}

func (s *Server) startContainer(c *container) error {
	if s.closed {
		return errors.New("the simulated runtime has been closed")
	}
	if !c.sandbox.ready() {
		return fmt.Errorf("sandbox container %q is not running", c.sandbox.id)
	}
	log, err := openLog(c.logPath)
	if err != nil {
		return fmt.Errorf("failed to create containerd task: failed to create container loggers: failed to create and open log file: %w", err)
	}
	c.log = log
	proc, err := script.New(c.process(c.args))
	if err != nil {
		_ = log.Close() // nothing was written
		return fmt.Errorf("failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: %w", err)
	}
	c.proc, c.startedAt = proc, now()
	s.emit(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, c.id, c.sandbox)
	s.procs.Go(func() { s.containerExited(c, proc.Run()) })
	return nil
}

// process returns the configuration of a process of the container. Only the first one, in a separate PID namespace, is
// an init process.
func (c *container) process(args []string) script.Config {
	cfg := script.Config{
		Args:        args,
		Hostname:    c.sandbox.config.GetHostname(),
		Init:        c.config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetPid() == runtimeapi.NamespaceMode_CONTAINER,
		MemoryLimit: c.resources.GetMemoryLimitInBytes(),
		Exists:      c.image.has,
		Files:       c.files,
		Stdout:      logStream{c.log, runtimeapi.Stdout},
		Stderr:      logStream{c.log, runtimeapi.Stderr},
	}
	for _, e := range c.config.GetEnvs() {
		cfg.Env = append(cfg.Env, e.GetKey()+"="+string(e.GetValue()))
	}
	return cfg
}
