package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// storedImage is an image on the node.
type storedImage struct {
	*Image
	order         uint64
	tags, digests []string
}

// layerState is a layer on the node, or one that is being downloaded.
type layerState struct {
	size    uint64
	present bool
	done    chan struct{} // closed when its download ends, with or without success
}

// storeImage adds an image to the node, or adds a reference to it.
func (s *Server) storeImage(image *Image, ref string) *storedImage {
	id := image.id()
	stored := s.images[id]
	if stored == nil {
		stored = &storedImage{Image: image, order: s.nextOrder()}
		s.images[id] = stored
	}
	if !strings.Contains(ref, "@") && !slices.Contains(stored.tags, ref) {
		stored.tags = append(slices.Clip(stored.tags), ref)
	}
	if d := image.repoDigest(); !slices.Contains(stored.digests, d) {
		stored.digests = append(slices.Clip(stored.digests), d)
	}
	for _, ref := range slices.Concat(stored.tags, stored.digests) {
		s.refs[ref] = id
	}
	return stored
}

// resolveImage finds an image on the node by its ID or a reference.
func (s *Server) resolveImage(refOrID string) (*storedImage, error) {
	if image, ok := s.images[refOrID]; ok {
		return image, nil
	}
	if ref, err := reference.ParseDockerRef(refOrID); err == nil {
		if image, ok := s.images[s.refs[ref.String()]]; ok {
			return image, nil
		}
	}
	return nil, errNotFound
}

// known finds an image in the registry. An image by digest must be one of a registry entry.
func (s *Server) known(ref reference.Named) (*Image, error) {
	if image, ok := s.registry[ref.String()]; ok {
		return image, nil
	}
	if _, byDigest := ref.(reference.Canonical); byDigest || s.cfg.AnyImage == nil {
		return nil, fmt.Errorf("failed to pull and unpack image %q: failed to resolve image: %s: %w", ref, ref, errNotFound)
	}
	image := *s.cfg.AnyImage
	image.Name = ref.String()
	if err := image.complete(); err != nil {
		return nil, err
	}
	s.registry[image.Name] = &image
	s.registry[image.repoDigest()] = &image
	return &image, nil
}

func (i *storedImage) toCRI() *runtimeapi.Image {
	uid, name := i.user()
	return &runtimeapi.Image{
		Id: i.id(), RepoTags: i.tags, RepoDigests: i.digests, Size: i.size(), Uid: uid, Username: name, Pinned: i.Pinned,
	}
}
