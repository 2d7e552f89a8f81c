package lab

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// ExportImages writes archives of images to dir, for machines that reach no registry, each as IMAGE.tar, which ctr images import reads.
// Images are named HOST/kubeloupe/IMAGE:1 there. What is missing in the cache is built first.
func ExportImages(ctx context.Context, log io.Writer, dir, host string, images ...Image) error {
	b, err := newBuilder(log)
	if err != nil {
		return err
	}
	from, err := b.images(ctx)
	if err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, i := range images {
		tag, err := name.NewTag(host + "/" + i.Repository())
		if err != nil {
			return err
		}
		found := false
		for _, d := range manifest.Manifests {
			if found = d.Annotations["org.opencontainers.image.ref.name"] == i.Repository(); !found {
				continue
			}
			img, err := index.Image(d.Digest)
			if err == nil {
				err = tarball.WriteToFile(filepath.Join(dir, string(i)+".tar"), tag, img)
			}
			if err != nil {
				return fmt.Errorf("image %s: %w", i, err)
			}
			break
		}
		if !found {
			return fmt.Errorf("image %s: not in %s", i, from)
		}
	}
	return nil
}
