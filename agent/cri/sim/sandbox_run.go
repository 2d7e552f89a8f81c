package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RunPodSandbox creates a sandbox and makes it ready. Its name is reserved from the start of the call.
func (s *Server) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	about := subject{pod: r.GetConfig().GetMetadata().GetName()}
	return call(ctx, s, "RunPodSandbox", about, func() (*runtimeapi.RunPodSandboxResponse, error) {
		return s.runPodSandbox(ctx, r)
	})
}

func (s *Server) runPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (_ *runtimeapi.RunPodSandboxResponse, err error) {
	m := r.GetConfig().GetMetadata()
	if m == nil {
		return nil, errors.New("sandbox config must include metadata")
	}
	sb := &sandbox{
		name:       strings.Join([]string{m.GetName(), m.GetNamespace(), m.GetUid(), strconv.FormatUint(uint64(m.GetAttempt()), 10)}, "_"),
		config:     proto.CloneOf(r.GetConfig()),
		handler:    r.GetRuntimeHandler(),
		state:      runtimeapi.PodSandboxState_SANDBOX_READY,
		containers: map[string]*container{},
	}
	s.mu.Lock()
	sb.id = s.newID()
	err = reserve(s.sandboxNames, sb.name, sb.id)
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("failed to reserve sandbox name %q: %w", sb.name, err)
	}
	defer func() {
		if err != nil {
			s.mu.Lock()
			delete(s.sandboxNames, sb.name)
			s.mu.Unlock()
		}
	}()
	if sb.handler != "" && !slices.Contains(s.cfg.RuntimeHandlers, sb.handler) {
		return nil, fmt.Errorf("unable to get OCI runtime for sandbox %q: no runtime for %q is configured", sb.id, sb.handler)
	}
	if err := s.pause(ctx, "RunPodSandbox"); err != nil {
		return nil, fmt.Errorf("failed to start sandbox %q: %w", sb.id, err)
	}
	if sb.hostNetwork() && sb.config.GetHostname() != "" {
		return nil, fmt.Errorf("failed to start sandbox %q: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to set hostname without a private UTS namespace", sb.id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !sb.hostNetwork() {
		if err := s.networkErr(); err != nil {
			return nil, fmt.Errorf("failed to setup network for sandbox %q: %w", sb.id, err)
		}
		if sb.ip, err = s.ips.take(); err != nil {
			return nil, fmt.Errorf("failed to setup network for sandbox %q: %w", sb.id, err)
		}
	}
	sb.order, sb.createdAt = s.nextOrder(), now()
	s.sandboxes[sb.id] = sb
	s.emit(runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT, sb.id, sb)
	s.emit(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, sb.id, sb)
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: sb.id}, nil
}
