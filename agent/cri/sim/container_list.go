package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListContainers lists the containers that match the filter, oldest first.
func (s *Server) ListContainers(ctx context.Context, r *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return quick(ctx, s, "ListContainers", subject{}, func() (*runtimeapi.ListContainersResponse, error) {
		return &runtimeapi.ListContainersResponse{Containers: s.listContainers(r.GetFilter())}, nil
	})
}

// StreamContainers is ListContainers in several messages.
func (s *Server) StreamContainers(r *runtimeapi.StreamContainersRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamContainersResponse]) error {
	return streamed(s, "StreamContainers", stream, func() []*runtimeapi.Container {
		return s.listContainers(r.GetFilter())
	}, func(batch []*runtimeapi.Container) *runtimeapi.StreamContainersResponse {
		return &runtimeapi.StreamContainersResponse{Containers: batch}
	})
}

func (s *Server) listContainers(f *runtimeapi.ContainerFilter) []*runtimeapi.Container {
	var list []*runtimeapi.Container
	for _, c := range s.sortedContainers() {
		if !s.matchesID(f.GetId(), c.id) || !s.matchesID(f.GetPodSandboxId(), c.sandbox.id) ||
			!hasLabels(c.config.GetLabels(), f.GetLabelSelector()) ||
			f.GetState() != nil && f.GetState().GetState() != c.state() {
			continue
		}
		list = append(list, &runtimeapi.Container{
			Id:           c.id,
			PodSandboxId: c.sandbox.id,
			Metadata:     c.config.GetMetadata(),
			Image:        c.config.GetImage(),
			ImageRef:     c.image.id(),
			ImageId:      c.image.id(),
			State:        c.state(),
			CreatedAt:    c.createdAt,
			Labels:       c.config.GetLabels(),
			Annotations:  c.config.GetAnnotations(),
		})
	}
	return list
}

func (s *Server) sortedContainers() []*container {
	return slices.SortedFunc(maps.Values(s.containers), func(a, b *container) int { return cmp.Compare(a.order, b.order) })
}
