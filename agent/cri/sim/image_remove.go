package sim

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RemoveImage removes an image with all its references, and the layers that no other image on the node has. Like
// containerd it does not check whether a container uses the image or whether it is pinned, and does nothing if the
// image does not exist.
func (s *Server) RemoveImage(ctx context.Context, r *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	name := r.GetImage().GetImage()
	return quick(ctx, s, "RemoveImage", subject{image: name}, func() (*runtimeapi.RemoveImageResponse, error) {
		image, err := s.resolveImage(name)
		if err != nil {
			return &runtimeapi.RemoveImageResponse{}, nil //nolint:nilerr // nothing to do
		}
		delete(s.images, image.id())
		for ref, id := range s.refs {
			if id == image.id() {
				delete(s.refs, ref)
			}
		}
		used := map[string]bool{}
		for _, other := range s.images {
			for _, l := range other.Layers {
				used[l.Digest] = true
			}
		}
		for _, l := range image.Layers {
			if state := s.layers[l.Digest]; state != nil && state.present && !used[l.Digest] {
				delete(s.layers, l.Digest)
			}
		}
		return &runtimeapi.RemoveImageResponse{}, nil
	})
}
