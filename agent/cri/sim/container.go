package sim

import (
	"fmt"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim/internal/script"
)

// container is one container. Identity and config never change; the rest is guarded by Server.mu. Its state follows
// from its times, as in containerd:
//
//	CreateContainer ──▶ CREATED ──StartContainer──▶ RUNNING ──exit, StopContainer──▶ EXITED ──RemoveContainer──▶ gone
//	                       └─────────StartContainer fails (code 128, StartError)──────▲
//
// Many fields: it has everything that the CRI reports about a container, and its simulated behavior.
type container struct {
	id, name string
	order    uint64
	sandbox  *sandbox
	config   *runtimeapi.ContainerConfig
	args     []string
	image    *Image
	logPath  string
	files    *script.Files

	resources                        *runtimeapi.LinuxContainerResources
	createdAt, startedAt, finishedAt int64
	exitCode                         int32
	reason, message                  string
	starting, removing               bool
	stopping                         bool // the stop signal has been sent
	proc                             *script.Process
	log                              *criLog
	exited                           chan struct{} // closed when the container has exited
}

// Reasons that containerd uses.
const (
	reasonCompleted  = "Completed"
	reasonError      = "Error"
	reasonOOMKilled  = "OOMKilled"
	reasonStartError = "StartError"
	startErrorCode   = 128
)

func (c *container) state() runtimeapi.ContainerState {
	switch {
	case c.finishedAt != 0:
		return runtimeapi.ContainerState_CONTAINER_EXITED
	case c.startedAt != 0:
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return runtimeapi.ContainerState_CONTAINER_CREATED
}

func (c *container) running() bool {
	return c.state() == runtimeapi.ContainerState_CONTAINER_RUNNING
}

func (c *container) subject() subject {
	about := c.sandbox.subject()
	about.container = c.config.GetMetadata().GetName()
	return about
}

// stopSignal is the signal that StopContainer sends, without SIG: the container's, the image's, or TERM.
func (c *container) stopSignal() string {
	name := c.image.StopSignal
	if sig := c.config.GetStopSignal(); sig != runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		name = strings.TrimPrefix(sig.String(), "SIGNAL_")
		name = strings.NewReplacer("PLUS", "+", "MINUS", "-").Replace(name)
	}
	if name == "" {
		return "TERM"
	}
	return strings.TrimPrefix(name, "SIG")
}

// containerExited records the end of a container's process.
func (s *Server) containerExited(c *container, exit script.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.finishedAt = now()
	c.exitCode = int32(exit.Code)
	if exit.OOM {
		c.reason = reasonOOMKilled
	}
	if err := c.log.Close(); err != nil {
		c.message = err.Error()
	}
	close(c.exited)
	if !s.closed {
		s.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, c.id, c.sandbox)
	}
}

// ExitContainer makes a running container exit with the given exit code; with oom, the memory limit kills it, with exit
// code 137. It returns before the exit is visible.
func (s *Server) ExitContainer(id string, code int, oom bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findContainer(id)
	if err != nil {
		return fmt.Errorf("container %q: %w", id, err)
	}
	if !c.running() {
		return fmt.Errorf("container %q is in %s state", id, c.state())
	}
	if oom {
		code = 137
	}
	c.proc.Kill(script.Exit{Code: code, OOM: oom})
	return nil
}

func (s *Server) findContainer(id string) (*container, error) { return find(s.containers, id) }

// lookupContainer returns the container; nil if it does not exist.
func (s *Server) lookupContainer(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lookup(s.containers, "container", id)
}

// aboutContainer returns the subject of a call about a container, for faults.
func (s *Server) aboutContainer(id string) subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, err := s.findContainer(id); err == nil {
		return c.subject()
	}
	return subject{}
}
