package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim/internal/script"
)

// terminationPath is the annotation by which the kubelet sets the path of a container's termination message.
const terminationPath = "io.kubernetes.container.terminationMessagePath"

// CreateContainer creates a container in a ready sandbox, from an image on the node. Its name is reserved from the
// start of the call.
func (s *Server) CreateContainer(ctx context.Context, r *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	about := s.aboutSandbox(r.GetPodSandboxId())
	about.container = r.GetConfig().GetMetadata().GetName()
	about.image = r.GetConfig().GetImage().GetImage()
	return call(ctx, s, "CreateContainer", about, func() (*runtimeapi.CreateContainerResponse, error) {
		return s.createContainer(ctx, r)
	})
}

func (s *Server) createContainer(ctx context.Context, r *runtimeapi.CreateContainerRequest) (_ *runtimeapi.CreateContainerResponse, err error) {
	c, err := s.prepareContainer(r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.mu.Lock()
			delete(s.containerNames, c.name)
			s.mu.Unlock()
		}
	}()
	if err := s.pause(ctx, "CreateContainer"); err != nil {
		return nil, fmt.Errorf("failed to create containerd container: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandboxes[c.sandbox.id] != c.sandbox {
		return nil, fmt.Errorf("failed to find sandbox id %q: %w", c.sandbox.id, errNotFound)
	}
	c.order, c.createdAt = s.nextOrder(), now()
	s.containers[c.id] = c
	c.sandbox.containers[c.id] = c
	s.emit(runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT, c.id, c.sandbox)
	return &runtimeapi.CreateContainerResponse{ContainerId: c.id}, nil
}

// prepareContainer checks the request and reserves the container's name.
func (s *Server) prepareContainer(r *runtimeapi.CreateContainerRequest) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sb, err := s.findSandbox(r.GetPodSandboxId())
	if err != nil {
		return nil, fmt.Errorf("failed to find sandbox id %q: %w", r.GetPodSandboxId(), err)
	}
	if !sb.ready() {
		return nil, fmt.Errorf("sandbox container %q is not running", sb.id)
	}
	m, pod := r.GetConfig().GetMetadata(), r.GetSandboxConfig().GetMetadata()
	if m == nil {
		return nil, errors.New("container config must include metadata")
	}
	if pod == nil {
		return nil, errors.New("pod sandbox config must include metadata")
	}
	sig := r.GetConfig().GetStopSignal()
	if _, ok := runtimeapi.Signal_name[int32(sig)]; !ok {
		return nil, fmt.Errorf("unknown CRI stop signal %d: %w", sig, errInvalid)
	}
	name := strings.Join([]string{m.GetName(), pod.GetName(), pod.GetNamespace(), pod.GetUid(), strconv.FormatUint(uint64(m.GetAttempt()), 10)}, "_")
	image, err := s.resolveImage(r.GetConfig().GetImage().GetImage())
	// The name is reserved first, as in containerd; a missing image releases it.
	id := s.newID()
	if err := reserve(s.containerNames, name, id); err != nil {
		return nil, fmt.Errorf("failed to reserve container name %q; check if another CreateContainer request is in progress: %w", name, err)
	}
	args := []string(nil)
	if err == nil {
		args, err = commandLine(r.GetConfig(), image.Image)
	} else {
		err = fmt.Errorf("failed to resolve image %q: %w", r.GetConfig().GetImage().GetImage(), err)
	}
	if err != nil {
		delete(s.containerNames, name)
		return nil, err
	}
	c := &container{
		id: id, name: name, sandbox: sb, args: args, image: image.Image,
		config:    proto.CloneOf(r.GetConfig()),
		resources: proto.CloneOf(r.GetConfig().GetLinux().GetResources()),
		files:     &script.Files{},
		exited:    make(chan struct{}),
	}
	if c.resources == nil {
		c.resources = &runtimeapi.LinuxContainerResources{}
	}
	if dir := r.GetSandboxConfig().GetLogDirectory(); dir != "" && c.config.GetLogPath() != "" {
		c.logPath = filepath.Join(dir, c.config.GetLogPath())
	}
	if inside := c.config.GetAnnotations()[terminationPath]; inside != "" {
		for _, m := range c.config.GetMounts() {
			if m.GetContainerPath() == inside {
				c.files.Map(inside, m.GetHostPath())
			}
		}
	}
	return c, nil
}

// commandLine combines the container's command and arguments with the image's, as Docker does.
func commandLine(config *runtimeapi.ContainerConfig, image *Image) ([]string, error) {
	command, args := config.GetCommand(), config.GetArgs()
	if len(command) == 0 {
		if len(args) == 0 {
			args = image.Cmd
		}
		command = image.Entrypoint
	}
	all := append(append([]string(nil), command...), args...)
	if len(all) == 0 {
		return nil, errors.New("failed to generate container spec: no command specified")
	}
	return all, nil
}
