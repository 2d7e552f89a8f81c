package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListImages lists the images on the node. Like containerd it ignores the filter.
func (s *Server) ListImages(ctx context.Context, _ *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return quick(ctx, s, "ListImages", subject{}, func() (*runtimeapi.ListImagesResponse, error) {
		return &runtimeapi.ListImagesResponse{Images: s.listImages()}, nil
	})
}

// StreamImages is ListImages in several messages.
func (s *Server) StreamImages(_ *runtimeapi.StreamImagesRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamImagesResponse]) error {
	return streamed(s, "StreamImages", stream, s.listImages, func(batch []*runtimeapi.Image) *runtimeapi.StreamImagesResponse {
		return &runtimeapi.StreamImagesResponse{Images: batch}
	})
}

func (s *Server) listImages() []*runtimeapi.Image {
	var list []*runtimeapi.Image
	for _, image := range slices.SortedFunc(maps.Values(s.images), func(a, b *storedImage) int { return cmp.Compare(a.order, b.order) }) {
		list = append(list, image.toCRI())
	}
	return list
}

// ImageStatus returns one image by ID or reference; the response has none if it is not on the node.
func (s *Server) ImageStatus(ctx context.Context, r *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	name := r.GetImage().GetImage()
	return quick(ctx, s, "ImageStatus", subject{image: name}, func() (*runtimeapi.ImageStatusResponse, error) {
		image, err := s.resolveImage(name)
		if err != nil {
			return &runtimeapi.ImageStatusResponse{}, nil //nolint:nilerr // not found is an answer here
		}
		resp := &runtimeapi.ImageStatusResponse{Image: image.toCRI()}
		if r.GetVerbose() {
			resp.Info, err = verbose(map[string]any{
				"simulated": true, "entrypoint": image.Entrypoint, "cmd": image.Cmd, "user": image.User, "layers": image.Layers,
			})
		}
		return resp, err
	})
}

// ImageFsInfo reports the size of the layers on the node.
func (s *Server) ImageFsInfo(ctx context.Context, _ *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return quick(ctx, s, "ImageFsInfo", subject{}, func() (*runtimeapi.ImageFsInfoResponse, error) {
		var used, count uint64
		for _, l := range s.layers {
			if l.present {
				used += l.size
				count++
			}
		}
		return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: []*runtimeapi.FilesystemUsage{{
			Timestamp:  now(),
			FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: s.cfg.ImageFSPath},
			UsedBytes:  &runtimeapi.UInt64Value{Value: used},
			InodesUsed: &runtimeapi.UInt64Value{Value: count},
		}}}, nil
	})
}
