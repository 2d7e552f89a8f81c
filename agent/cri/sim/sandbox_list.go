package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListPodSandbox lists the sandboxes that match the filter, oldest first.
func (s *Server) ListPodSandbox(ctx context.Context, r *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return quick(ctx, s, "ListPodSandbox", subject{}, func() (*runtimeapi.ListPodSandboxResponse, error) {
		return &runtimeapi.ListPodSandboxResponse{Items: s.listPodSandboxes(r.GetFilter())}, nil
	})
}

// StreamPodSandboxes is ListPodSandbox in several messages.
func (s *Server) StreamPodSandboxes(r *runtimeapi.StreamPodSandboxesRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxesResponse]) error {
	return streamed(s, "StreamPodSandboxes", stream, func() []*runtimeapi.PodSandbox {
		return s.listPodSandboxes(r.GetFilter())
	}, func(batch []*runtimeapi.PodSandbox) *runtimeapi.StreamPodSandboxesResponse {
		return &runtimeapi.StreamPodSandboxesResponse{PodSandboxes: batch}
	})
}

func (s *Server) listPodSandboxes(f *runtimeapi.PodSandboxFilter) []*runtimeapi.PodSandbox {
	var list []*runtimeapi.PodSandbox
	for _, sb := range s.sortedSandboxes() {
		if !s.matchesID(f.GetId(), sb.id) || !hasLabels(sb.config.GetLabels(), f.GetLabelSelector()) ||
			f.GetState() != nil && f.GetState().GetState() != sb.state {
			continue
		}
		list = append(list, &runtimeapi.PodSandbox{
			Id:             sb.id,
			Metadata:       sb.config.GetMetadata(),
			State:          sb.state,
			CreatedAt:      sb.createdAt,
			Labels:         sb.config.GetLabels(),
			Annotations:    sb.config.GetAnnotations(),
			RuntimeHandler: sb.handler,
		})
	}
	return list
}

func (s *Server) sortedSandboxes() []*sandbox {
	return slices.SortedFunc(maps.Values(s.sandboxes), func(a, b *sandbox) int { return cmp.Compare(a.order, b.order) })
}

// matchesID compares an ID with a filter's, which may be empty or an unambiguous prefix.
func (s *Server) matchesID(want, id string) bool {
	if want == "" || want == id {
		return true
	}
	if sb, err := s.findSandbox(want); err == nil {
		return sb.id == id
	}
	if c, err := s.findContainer(want); err == nil {
		return c.id == id
	}
	return false
}

func hasLabels(labels, selector map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}
