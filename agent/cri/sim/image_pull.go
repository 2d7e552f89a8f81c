package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PullImage pulls an image. It takes the size of the missing layers, divided by the bandwidth. If another pull is
// downloading a layer, it waits for that. Credentials are not checked.
func (s *Server) PullImage(ctx context.Context, r *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	name := r.GetImage().GetImage()
	return call(ctx, s, "PullImage", subject{pod: r.GetSandboxConfig().GetMetadata().GetName(), image: name}, func() (*runtimeapi.PullImageResponse, error) {
		ref, err := reference.ParseDockerRef(name)
		if err != nil {
			return nil, fmt.Errorf("failed to parse image reference %q: %w", name, err)
		}
		if err := s.pause(ctx, "PullImage"); err != nil {
			return nil, err
		}
		s.mu.Lock()
		image, err := s.known(ref)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		for _, l := range image.Layers {
			if err := s.pullLayer(ctx, l); err != nil {
				return nil, fmt.Errorf("failed to pull and unpack image %q: %w", ref, err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.storeImage(image, ref.String())
		return &runtimeapi.PullImageResponse{ImageRef: image.id()}, nil
	})
}

// pullLayer downloads a layer unless it exists. If another pull is downloading it, it waits for that.
func (s *Server) pullLayer(ctx context.Context, l Layer) error {
	for {
		s.mu.Lock()
		state := s.layers[l.Digest]
		if state == nil {
			state = &layerState{size: l.Size, done: make(chan struct{})}
			s.layers[l.Digest] = state
			s.mu.Unlock()
			return s.download(ctx, l.Digest, state)
		}
		present := state.present
		s.mu.Unlock()
		if present {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-state.done: // check again: the other pull may have failed
		}
	}
}

func (s *Server) download(ctx context.Context, digest string, state *layerState) error {
	var d time.Duration
	if s.cfg.PullBandwidth > 0 {
		d = time.Duration(float64(state.size) / float64(s.cfg.PullBandwidth) * float64(time.Second))
	}
	err := sleep(ctx, d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.present = err == nil; !state.present {
		delete(s.layers, digest)
	}
	close(state.done)
	return err
}
