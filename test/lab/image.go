package lab

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageSource is hashed into the version of the images.
//
//go:embed images image.go
var imageSource embed.FS

// Image names one of the lab's images.
type Image string

// The images of a lab. All but ImagePause hold busybox.
const (
	// ImagePause is the sandbox image.
	ImagePause Image = "pause"
	// ImageBusybox is busybox alone.
	ImageBusybox Image = "busybox"
	// ImageHTTP is a small HTTP server; see images/httpd.
	ImageHTTP Image = "http"
	// Image60M has six layers of 10 MiB that do not compress.
	Image60M Image = "60m"
	// ImageSmallFiles has 20,000 files of some 200 bytes, in two layers.
	ImageSmallFiles Image = "smallfiles"
)

// Images lists all images, as named in the registry below "kubeloupe/".
func Images() []Image {
	return []Image{ImagePause, ImageBusybox, ImageHTTP, Image60M, ImageSmallFiles}
}

// Repository returns the image's path and tag within the registry.
func (i Image) Repository() string {
	tag := "1"
	if i == ImagePause {
		tag = "3.10"
	}
	return "kubeloupe/" + string(i) + ":" + tag
}

// images returns the OCI layout with all images, which it makes if missing.
func (b builder) images(ctx context.Context) (string, error) {
	version, err := hashFS(imageSource)
	if err != nil {
		return "", err
	}
	return b.ensure("images", version, "layout", func(tmp string) error {
		bin, err := os.MkdirTemp("", "kubeloupe-images-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(bin) }()
		pause, err := b.compilePause(ctx, bin)
		if err != nil {
			return err
		}
		httpd, err := b.compileHTTP(ctx, bin)
		if err != nil {
			return err
		}
		busybox, err := b.busybox(ctx)
		if err != nil {
			return err
		}
		return writeImages(tmp, pause, busybox, httpd)
	})
}

func (b builder) compilePause(ctx context.Context, dir string) ([]byte, error) {
	return b.compile(dir, "pause/pause.c", func(src, out string) error {
		return b.run(ctx, dir, nil, "gcc", "-static", "-Os", "-s", "-Wall", "-o", out, src)
	})
}

func (b builder) compileHTTP(ctx context.Context, dir string) ([]byte, error) {
	return b.compile(dir, "httpd/main.go", func(src, out string) error {
		env := []string{"CGO_ENABLED=0", "GO111MODULE=off", "GOFLAGS=", "GOOS=", "GOARCH="}
		return b.run(ctx, dir, env, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, src)
	})
}

func (b builder) compile(dir, name string, build func(src, out string) error) ([]byte, error) {
	source, err := imageSource.ReadFile("images/" + name)
	if err != nil {
		return nil, err
	}
	src := filepath.Join(dir, path.Base(name))
	out := filepath.Join(dir, path.Dir(name))
	if err := os.WriteFile(src, source, 0o644); err != nil {
		return nil, err
	}
	if err := build(src, out); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// busybox is the static program and the names of its applets.
type busybox struct {
	program []byte
	applets []string
}

func (b builder) busybox(ctx context.Context) (busybox, error) {
	if err := b.debian(ctx, "busybox-static"); err != nil {
		return busybox{}, err
	}
	path, err := exec.LookPath("busybox")
	if err != nil {
		return busybox{}, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return busybox{}, err
	}
	list, err := exec.CommandContext(ctx, path, "--list").Output()
	if err != nil {
		return busybox{}, fmt.Errorf("busybox --list: %w", err)
	}
	return busybox{program: program, applets: strings.Fields(string(list))}, nil
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// writeImages makes all images. The same inputs give the same digests.
func writeImages(dir string, pause []byte, busybox busybox, httpd []byte) error {
	base := busybox.layer()
	recipes := map[Image]struct {
		layers []layerFunc
		config v1.Config
	}{
		ImagePause: {
			layers: []layerFunc{func(t *tarWriter) { t.file("pause", 0o755, pause) }},
			config: v1.Config{Entrypoint: []string{"/pause"}, WorkingDir: "/", User: "65535:65535"},
		},
		ImageBusybox: {
			layers: []layerFunc{base},
			config: v1.Config{Cmd: []string{"sh"}},
		},
		ImageHTTP: {
			layers: []layerFunc{base, func(t *tarWriter) { t.file("httpd", 0o755, httpd) }},
			config: v1.Config{Entrypoint: []string{"/httpd"}, ExposedPorts: map[string]struct{}{"8080/tcp": {}}},
		},
		Image60M: {
			layers: append([]layerFunc{base}, randomLayers(6, 10<<20)...),
			config: v1.Config{Cmd: []string{"sleep", "infinity"}},
		},
		ImageSmallFiles: {
			layers: []layerFunc{base, smallFiles("a", 10_000), smallFiles("b", 10_000)},
			config: v1.Config{Cmd: []string{"sleep", "infinity"}},
		},
	}
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, name := range Images() {
		r := recipes[name]
		if name != ImagePause {
			r.config.Env = []string{defaultPath}
		}
		img, err := makeImage(r.config, r.layers)
		if err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		ref := map[string]string{"org.opencontainers.image.ref.name": name.Repository()}
		if err := l.AppendImage(img, layout.WithAnnotations(ref)); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
	}
	return nil
}

func makeImage(config v1.Config, fills []layerFunc) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, fill := range fills {
		layer, err := makeLayer(fill)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(img, file)
}

// layerFunc fills one layer.
type layerFunc func(*tarWriter)

func makeLayer(fill layerFunc) (v1.Layer, error) {
	var buf bytes.Buffer
	t := &tarWriter{w: tar.NewWriter(&buf)}
	fill(t)
	if err := cmp.Or(t.err, t.w.Close()); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// tarWriter writes entries without owner or time, and keeps the first error.
type tarWriter struct {
	w   *tar.Writer
	err error
}

func (t *tarWriter) entry(h tar.Header, data []byte) {
	h.Size = int64(len(data))
	h.Format = tar.FormatUSTAR
	if t.err == nil {
		t.err = t.w.WriteHeader(&h)
	}
	if t.err == nil {
		_, t.err = t.w.Write(data)
	}
}

func (t *tarWriter) dir(name string, mode int64) {
	t.entry(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}, nil)
}

// dirs makes a directory and those above it.
func (t *tarWriter) dirs(name string) {
	if name != "." {
		t.dirs(path.Dir(name))
		t.dir(name, 0o755)
	}
}

func (t *tarWriter) file(name string, mode int64, data []byte) {
	t.entry(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, data)
}

func (t *tarWriter) link(name, target string) {
	t.entry(tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o755}, nil)
}

func (b busybox) layer() layerFunc {
	return func(t *tarWriter) {
		for _, dir := range []string{"bin", "dev", "etc", "home", "proc", "root", "sys", "var", "var/log"} {
			t.dir(dir, 0o755)
		}
		t.dir("tmp", 0o1777)
		t.file("bin/busybox", 0o755, b.program)
		for _, applet := range b.applets {
			if applet != "busybox" {
				t.link("bin/"+path.Base(applet), "bin/busybox")
			}
		}
		t.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"))
		t.file("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
	}
}

// randomLayers returns n layers of size bytes each that do not compress.
func randomLayers(n, size int) []layerFunc {
	var layers []layerFunc
	for i := range n {
		layers = append(layers, func(t *tarWriter) {
			data := make([]byte, size)
			_, err := rand.NewChaCha8([32]byte{byte(i)}).Read(data)
			t.err = cmp.Or(t.err, err)
			t.dir("data", 0o755)
			t.file(fmt.Sprintf("data/%d", i), 0o644, data)
		})
	}
	return layers
}

// smallFiles returns a layer of n small files, 100 to a directory.
func smallFiles(root string, n int) layerFunc {
	return func(t *tarWriter) {
		random := rand.New(rand.NewPCG(uint64(n), uint64(root[0])))
		t.dir("files", 0o755)
		t.dir("files/"+root, 0o755)
		for i := range n {
			dir := fmt.Sprintf("files/%s/%03d", root, i/100)
			if i%100 == 0 {
				t.dir(dir, 0o755)
			}
			text := fmt.Sprintf("file %d\n%x\n", i, random.Perm(50+random.IntN(50)))
			t.file(fmt.Sprintf("%s/%02d.txt", dir, i%100), 0o644, []byte(text))
		}
	}
}

// checkImage reports an unknown image by name.
func checkImage(i Image) error {
	if slices.Contains(Images(), i) {
		return nil
	}
	return errors.New("no image " + string(i) + " in the lab: there are pause, busybox, http, 60m and smallfiles")
}
