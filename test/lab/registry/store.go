package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// refAnnotation holds an image's name and tag in a layout.
const refAnnotation = "org.opencontainers.image.ref.name"

// store serves blobs from read-only layouts and from what was pushed.
type store struct {
	layouts []layout.Path
	// blobs are directories: of the layouts, and last of what was pushed.
	blobs  []string
	pushed registry.BlobHandler
	names  []string
}

func newStore(data string, layouts ...string) (*store, error) {
	s := &store{pushed: registry.NewDiskBlobHandler(data)}
	for _, dir := range layouts {
		l, err := layout.FromPath(dir)
		if err != nil {
			return nil, fmt.Errorf("layout %s: %w", dir, err)
		}
		s.layouts = append(s.layouts, l)
		s.blobs = append(s.blobs, filepath.Join(dir, "blobs"))
	}
	s.blobs = append(s.blobs, data)
	return s, os.MkdirAll(data, 0o755)
}

// publish pushes the manifests of the layouts to the registry's handler.
func (s *store) publish(h http.Handler) error {
	for _, l := range s.layouts {
		if err := s.publishLayout(h, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) publishLayout(h http.Handler, l layout.Path) error {
	index, err := l.ImageIndex()
	if err != nil {
		return err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, desc := range list.Manifests {
		ref := desc.Annotations[refAnnotation]
		name, tag, ok := strings.Cut(ref, ":")
		if !ok {
			return fmt.Errorf("layout: manifest %s: annotation %s is %q, want name:tag", desc.Digest, refAnnotation, ref)
		}
		manifest, err := l.Bytes(desc.Digest)
		if err != nil {
			return err
		}
		req := httptest.NewRequest(http.MethodPut, "/v2/"+name+"/manifests/"+tag, bytes.NewReader(manifest))
		req.Header.Set("Content-Type", string(desc.MediaType))
		resp := httptest.NewRecorder()
		h.ServeHTTP(resp, req)
		if resp.Code != http.StatusCreated {
			return fmt.Errorf("push %s: %d %s", ref, resp.Code, resp.Body)
		}
		s.names = append(s.names, ref)
	}
	return nil
}

func (s *store) open(h v1.Hash) (*os.File, error) {
	for _, dir := range s.blobs {
		f, err := os.Open(filepath.Join(dir, h.Algorithm, h.Hex))
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, registry.ErrNotFound
}

// Get implements [registry.BlobHandler].
func (s *store) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) { return s.open(h) }

// Stat implements [registry.BlobStatHandler].
func (s *store) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	f, err := s.open(h)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Put implements [registry.BlobPutHandler].
func (s *store) Put(ctx context.Context, repo string, h v1.Hash, rc io.ReadCloser) error {
	return s.pushed.(registry.BlobPutHandler).Put(ctx, repo, h, rc)
}
