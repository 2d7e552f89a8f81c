package sim

import (
	"context"
	"fmt"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStatus returns the status of one container, or NotFound.
func (s *Server) ContainerStatus(ctx context.Context, r *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	return quick(ctx, s, "ContainerStatus", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.ContainerStatusResponse, error) {
		c, err := s.findContainer(r.GetContainerId())
		if err != nil {
			return nil, fmt.Errorf("an error occurred when try to find container %q: %w", r.GetContainerId(), err)
		}
		resp := &runtimeapi.ContainerStatusResponse{Status: s.containerStatus(c)}
		if r.GetVerbose() {
			resp.Info, err = verbose(map[string]any{
				"simulated": true, "sandboxID": c.sandbox.id, "removing": c.removing, "config": c.config, "args": c.args,
			})
		}
		return resp, err
	})
}

// user returns the identity of the first process: the request's, otherwise the image's numeric user.
func (c *container) user() *runtimeapi.ContainerUser {
	sc := c.config.GetLinux().GetSecurityContext()
	uid, _ := c.image.user()
	if sc.GetRunAsUser() != nil {
		uid = sc.GetRunAsUser()
	}
	gid := sc.GetRunAsGroup().GetValue()
	return &runtimeapi.ContainerUser{Linux: &runtimeapi.LinuxContainerUser{
		Uid: uid.GetValue(), Gid: gid, SupplementalGroups: append([]int64{gid}, sc.GetSupplementalGroups()...),
	}}
}

// criSignal returns the CRI's name of a signal; for an unknown one, the runtime's default.
func criSignal(name string) runtimeapi.Signal {
	name = strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)
	return runtimeapi.Signal(runtimeapi.Signal_value["SIGNAL_SIG"+name])
}

// containerStatus has the image's tag and repository digest while the image is on the node, and its ID after that.
func (s *Server) containerStatus(c *container) *runtimeapi.ContainerStatus {
	id := c.image.id()
	st := &runtimeapi.ContainerStatus{
		Id:          c.id,
		Metadata:    c.config.GetMetadata(),
		State:       c.state(),
		CreatedAt:   c.createdAt,
		Image:       c.config.GetImage(),
		ImageRef:    id,
		ImageId:     id,
		Reason:      c.reason,
		Message:     c.message,
		Labels:      c.config.GetLabels(),
		Annotations: c.config.GetAnnotations(),
		Mounts:      c.config.GetMounts(),
		LogPath:     c.logPath,
		Resources:   &runtimeapi.ContainerResources{Linux: c.resources},
		User:        c.user(),
		StopSignal:  criSignal(c.stopSignal()),
	}
	if stored := s.images[id]; stored != nil {
		if len(stored.tags) > 0 {
			st.Image = &runtimeapi.ImageSpec{Image: stored.tags[0]}
		}
		if len(stored.digests) > 0 {
			st.ImageRef = stored.digests[0]
		}
	}
	switch c.state() {
	case runtimeapi.ContainerState_CONTAINER_CREATED, runtimeapi.ContainerState_CONTAINER_UNKNOWN:
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		st.StartedAt = c.startedAt
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		st.StartedAt, st.FinishedAt, st.ExitCode = c.startedAt, c.finishedAt, c.exitCode
		if st.Reason == "" && c.exitCode == 0 {
			st.Reason = reasonCompleted
		} else if st.Reason == "" {
			st.Reason = reasonError
		}
	}
	return st
}
