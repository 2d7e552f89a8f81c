package lab

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Programs is an image of static programs.
type Programs struct {
	// Files are programs on this machine, by their path in the image, without a slash at its beginning.
	Files map[string]string
	// Config says what is started, and by whom.
	Config v1.Config
}

// PushPrograms makes an image of programs, whose layer is not compressed, and pushes it to the lab's registry, by a name with a tag. In a cluster,
// containerd finds prom/prometheus:v3 there for docker.io/prom/prometheus:v3.
func (l *Lab) PushPrograms(ctx context.Context, name string, p Programs) error {
	img, err := p.image()
	if err == nil {
		err = l.push(ctx, name, img)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	return nil
}

// PushAs pushes one of the lab's images to its registry by another name, as [Lab.PushPrograms] does.
func (l *Lab) PushAs(ctx context.Context, name string, i Image) error {
	img, err := imageOf(l.state.ImageLayout, i)
	if err == nil {
		err = l.push(ctx, name, img)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	return nil
}

func (p Programs) image() (v1.Image, error) {
	var buf bytes.Buffer
	t := &tarWriter{w: tar.NewWriter(&buf)}
	t.dir("tmp", 0o1777)
	for to, from := range p.Files {
		program, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		t.dirs(path.Dir(to))
		t.file(to, 0o755, program)
	}
	if err := errors.Join(t.err, t.w.Close()); err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, static.NewLayer(buf.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, p.Config
	return mutate.ConfigFile(img, file)
}

// push pushes the layers, the config and then the manifest. go-containerregistry's package remote would do so, but needs Docker's client in go.mod.
func (l *Lab) push(ctx context.Context, name string, img v1.Image) error {
	repository, tag, ok := strings.Cut(name, ":")
	if !ok {
		return errors.New("want a name with a tag")
	}
	api := "http://" + l.Registry + "/v2/" + repository
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	config, err := partial.ConfigLayer(img)
	if err != nil {
		return err
	}
	for _, layer := range append(layers, config) {
		hash, err := layer.Digest()
		if err != nil {
			return err
		}
		blob, err := layer.Compressed()
		if err != nil {
			return err
		}
		if err := pushBlob(ctx, api, hash, blob); err != nil {
			return err
		}
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	_, err = pushRequest(ctx, http.MethodPut, api+"/manifests/"+tag, string(types.OCIManifestSchema1), bytes.NewReader(manifest))
	return err
}

// pushBlob uploads a blob at once.
func pushBlob(ctx context.Context, api string, hash v1.Hash, blob io.Reader) error {
	at, err := pushRequest(ctx, http.MethodPost, api+"/blobs/uploads/", "", http.NoBody)
	if err != nil {
		return err
	}
	up, err := url.Parse(api)
	if err == nil {
		up, err = up.Parse(at.Get("Location"))
	}
	if err != nil {
		return err
	}
	up.RawQuery = url.Values{"digest": {hash.String()}}.Encode()
	_, err = pushRequest(ctx, http.MethodPut, up.String(), "application/octet-stream", blob)
	return err
}

func pushRequest(ctx context.Context, method, to, kind string, body io.Reader) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %s", method, to, resp.Status, said)
	}
	return resp.Header, err
}
