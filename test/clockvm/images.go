package main

import (
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// copyImages writes an OCI layout with some of the images of another.
func copyImages(from, to string, want ...lab.Image) error {
	src, err := layout.FromPath(from)
	if err != nil {
		return fmt.Errorf("images %s: %w", from, err)
	}
	index, err := src.ImageIndex()
	if err != nil {
		return err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return err
	}
	dst, err := layout.Write(to, empty.Index)
	if err != nil {
		return err
	}
	for _, d := range list.Manifests {
		if !slices.ContainsFunc(want, func(i lab.Image) bool { return d.Annotations["org.opencontainers.image.ref.name"] == i.Repository() }) {
			continue
		}
		img, err := src.Image(d.Digest)
		if err != nil {
			return err
		}
		if err := dst.AppendImage(img, layout.WithAnnotations(d.Annotations)); err != nil {
			return err
		}
	}
	return nil
}
