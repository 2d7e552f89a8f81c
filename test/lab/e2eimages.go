package lab

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// e2eSource is hashed into the version of the tests' images.
//
//go:embed image.go e2eimages.go e2eimages
var e2eSource embed.FS

// mirrored are the registries that the cluster's containerd asks the lab's
// registry for, by name without any prefix.
func mirrored() []string {
	return []string{"registry.k8s.io", "docker.io", "quay.io", "gcr.io"}
}

// agnhostPackages are Debian's, for what agnhost has beside busybox.
var agnhostPackages = []string{"bash-static", "curl", "bind9-dnsutils", "netcat-openbsd", "iproute2", "util-linux", "hostname"}

// agnhostTools are the programs of these packages, by their place in the image.
// They come before busybox's in the path.
var agnhostTools = map[string]string{
	"usr/bin/curl":     "curl",
	"usr/bin/dig":      "dig",
	"usr/bin/nslookup": "nslookup",
	"usr/bin/nc":       "nc.openbsd",
	"usr/bin/ss":       "ss",
	"usr/bin/ipcs":     "ipcs",
	"usr/bin/hostname": "hostname",
}

// e2eImages returns the OCI layout with stand-ins for the images that the
// conformance tests use. They have the names and the content that tests look
// for, on busybox instead of Alpine.
func (b builder) e2eImages(ctx context.Context, base, programs string) (string, error) {
	hash, err := hashFS(e2eSource)
	if err != nil {
		return "", err
	}
	// The base's name is its hash, and the programs' theirs.
	sum := sha256.Sum256([]byte(hash + base + programs))
	return b.ensure("e2e-images", KubernetesVersion+"-"+hex.EncodeToString(sum[:6]), "layout", func(tmp string) error {
		busybox, err := b.busybox(ctx)
		if err != nil {
			return err
		}
		if err := b.debian(ctx, agnhostPackages...); err != nil {
			return err
		}
		bash, err := hostPrograms(ctx, map[string]string{"bin/bash": "bash-static"})
		if err != nil {
			return err
		}
		// busybox's shell would prefer its own nc to the better one.
		bash["bin/sh"] = bash["bin/bash"]
		sh, err := b.compileShell(ctx)
		if err != nil {
			return err
		}
		nmeter, err := b.compileProgram(ctx, "nmeter")
		if err != nil {
			return err
		}
		proxy, err := b.compileProgram(ctx, "hostpathplugin")
		if err != nil {
			return err
		}
		device, err := b.sampleDevicePlugin(ctx)
		if err != nil {
			return err
		}
		tools, err := hostPrograms(ctx, agnhostTools)
		if err != nil {
			return err
		}
		pause, err := imageOf(base, ImagePause)
		if err != nil {
			return err
		}
		return writeE2EImages(tmp, e2eParts{
			busybox: busybox, sh: sh, nmeter: nmeter, hostPathPlugin: proxy, devicePlugin: device, bash: bash, tools: tools, pause: pause, programs: programs,
		})
	})
}

func (b builder) compileShell(ctx context.Context) ([]byte, error) {
	source, err := e2eSource.ReadFile("e2eimages/sh.c")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubeloupe-sh-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "sh.c"), source, 0o644); err != nil {
		return nil, err
	}
	if err := b.run(ctx, dir, nil, "gcc", "-static", "-Os", "-s", "-Wall", "-o", "sh", "sh.c"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "sh"))
}

// compileProgram builds a stand-in for a program of upstream's images: nmeter, which Debian's busybox lacks, or hostpathplugin.
func (b builder) compileProgram(ctx context.Context, name string) ([]byte, error) {
	source, err := e2eSource.ReadFile(path.Join("e2eimages", name, "main.go"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubeloupe-"+name+"-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil {
		return nil, err
	}
	env := []string{"CGO_ENABLED=0", "GO111MODULE=off", "GOFLAGS=", "GOOS=", "GOARCH="}
	if err := b.run(ctx, dir, env, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", name, "main.go"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, name))
}

// sampleDevicePlugin builds the device plugin that Kubernetes' tests of a node run in a pod.
func (b builder) sampleDevicePlugin(ctx context.Context) ([]byte, error) {
	version, err := kubernetesVersion()
	if err != nil {
		return nil, err
	}
	dir, err := b.ensure("sample-device-plugin", version, "bin", func(tmp string) error {
		return b.inModule(kubernetesSource, func(dir string, env []string) error {
			return b.run(ctx, dir, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(tmp, "sampledeviceplugin"),
				"k8s.io/kubernetes/test/images/sample-device-plugin")
		})
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "sampledeviceplugin"))
}

// e2eParts is what the images are made of.
type e2eParts struct {
	busybox busybox
	// sh is the shell of the images without bash.
	sh []byte
	// nmeter prints the time with milliseconds.
	nmeter []byte
	// hostPathPlugin is the proxy of the tests of DRA.
	hostPathPlugin []byte
	// devicePlugin is upstream's sample of a device plugin.
	devicePlugin []byte
	// bash and tools are files by their place in the image.
	bash, tools map[string][]byte
	pause       v1.Image
	// programs is the directory of Kubernetes' programs.
	programs string
}

func writeE2EImages(dir string, parts e2eParts) error {
	files := make(map[string][]byte)
	for _, name := range []string{
		"agnhost", "nonewprivs", "regression-issue-74839",
		"files/localhost.crt", "files/localhost.key", "files/kitten.jpg", "files/data.json",
	} {
		data, err := os.ReadFile(filepath.Join(parts.programs, name))
		if err != nil {
			return err
		}
		files[name] = data
	}
	registry, err := fakeRegistry("pause", "testing", parts.pause)
	if err != nil {
		return err
	}
	var (
		base  = []layerFunc{parts.busybox.layer(), shellLayer(parts)}
		with  = func(layers ...layerFunc) []layerFunc { return slices.Concat(base, layers) }
		bash  = filesLayer(parts.bash, 0o755)
		tools = filesLayer(parts.tools, 0o755)
		agn   = with(bash, tools, agnhostLayer(files), filesLayer(registry, 0o644))
		serve = v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"test-webserver"}}
	)
	recipes := map[string]struct {
		layers []layerFunc
		config v1.Config
	}{
		"busybox:1.36.1-1": {base, v1.Config{Cmd: []string{"sh"}}},
		"busybox:1.37.0-2": {base, v1.Config{Cmd: []string{"sh"}}},
		"nonroot:1.5":      {base, v1.Config{Cmd: []string{"sh"}, User: "1234"}},
		"ipc-utils:1.4":    {with(bash, tools), v1.Config{Cmd: []string{"sh"}}},
		"glibc-dns-testing:2.1.1": {
			with(bash, tools), v1.Config{Cmd: []string{"bash"}},
		},
		"nonewprivs:1.4": {
			with(func(t *tarWriter) {
				t.dirs("usr/local/bin")
				t.file("usr/local/bin/nnp", 0o6755, files["nonewprivs"])
			}), v1.Config{Cmd: []string{"nnp"}},
		},
		"regression-issue-74839:1.5": {
			with(func(t *tarWriter) { t.file("regression-issue-74839", 0o755, files["regression-issue-74839"]) }),
			v1.Config{Entrypoint: []string{"/regression-issue-74839"}},
		},
		"sample-device-plugin:1.8.0": {
			with(func(t *tarWriter) { t.file("sampledeviceplugin", 0o755, parts.devicePlugin) }),
			v1.Config{Entrypoint: []string{"/sampledeviceplugin", "-alsologtostderr"}},
		},
		// The newest version in the manifests of Kubernetes' storage tests: those of DRA take it from there.
		"sig-storage/hostpathplugin:v1.17.1": {
			with(func(t *tarWriter) { t.file("hostpathplugin", 0o755, parts.hostPathPlugin) }),
			v1.Config{Entrypoint: []string{"/hostpathplugin"}},
		},
		"agnhost:2.55":   {agn, v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}}},
		"agnhost:2.66.1": {agn, v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}}},
		"nginx:1.27.0-2": {agn, serve},
		"nginx:1.28.0-2": {agn, serve},
		"httpd:2.4.38-4": {agn, serve},
		"kitten:1.8": {
			slices.Concat(agn, []layerFunc{func(t *tarWriter) {
				t.file("kitten.jpg", 0o644, files["files/kitten.jpg"])
				t.file("data.json", 0o644, files["files/data.json"])
			}}), serve,
		},
	}
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	add := func(ref string, img v1.Image) error {
		return l.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": ref}))
	}
	if err := add("pause:3.10.2", parts.pause); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		r := recipes[name]
		r.config.Env = []string{defaultPath}
		// Each image is another one: of names of the same image, the runtime reports any in a container's status.
		r.config.Labels = map[string]string{"kubeloupe.lab/image": name}
		img, err := makeImage(r.config, r.layers)
		if err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		if !strings.Contains(name, "/") {
			name = "e2e-test-images/" + name
		}
		if err := add(name, img); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
	}
	return nil
}

// shellLayer is what all images have beside busybox.
func shellLayer(parts e2eParts) layerFunc {
	return func(t *tarWriter) {
		t.file("bin/sh", 0o755, parts.sh)
		t.dirs("usr/bin")
		t.file("usr/bin/nmeter", 0o755, parts.nmeter)
	}
}

// agnhostLayer follows what upstream's image for agnhost holds.
func agnhostLayer(files map[string][]byte) layerFunc {
	return func(t *tarWriter) {
		t.dir("uploads", 0o755)
		t.dir("home/user-defined-in-image", 0o755)
		t.file("agnhost", 0o755, files["agnhost"])
		t.link("agnhost-2", "agnhost")
		t.file("localhost.crt", 0o644, files["files/localhost.crt"])
		t.file("localhost.key", 0o644, files["files/localhost.key"])
		t.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n"+
			"user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"+
			"nobody:x:65534:65534:nobody:/home:/bin/false\n"))
		t.file("etc/group", 0o644, []byte("root:x:0:\nuser-defined-in-image:x:1000:\n"+
			"group-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n"))
		t.file("etc/nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files dns\n"))
		// A test of image volumes looks for the name.
		t.file("etc/os-release", 0o644, []byte("NAME=\"kubeloupe lab, in place of Alpine Linux\"\nID=kubeloupe-lab\n"))
	}
}

// fakeRegistry lays an image out as "agnhost fake-registry-server" serves it.
func fakeRegistry(name, tag string, img v1.Image) (map[string][]byte, error) {
	out := make(map[string][]byte)
	put := func(kind string, h v1.Hash, data []byte) {
		out[path.Join("var/registry", name, kind, h.Algorithm, h.Hex[:2], h.Hex, "data")] = data
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return nil, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	put("manifests", digest, manifest)
	config, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	configName, err := img.ConfigName()
	if err != nil {
		return nil, err
	}
	put("blobs", configName, config)
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	for _, desc := range m.Layers {
		data, err := layerBlob(img, desc.Digest)
		if err != nil {
			return nil, err
		}
		put("blobs", desc.Digest, data)
	}
	out[path.Join("var/registry", name, "manifests", tag)] = []byte(digest.String() + "\n")
	return out, nil
}

func layerBlob(img v1.Image, digest v1.Hash) ([]byte, error) {
	layer, err := img.LayerByDigest(digest)
	if err != nil {
		return nil, err
	}
	blob, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }()
	return io.ReadAll(blob)
}

// imageOf returns an image of the lab's layout.
func imageOf(dir string, i Image) (v1.Image, error) {
	l, err := layout.FromPath(dir)
	if err != nil {
		return nil, err
	}
	index, err := l.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, desc := range list.Manifests {
		if desc.Annotations["org.opencontainers.image.ref.name"] == i.Repository() {
			return l.Image(desc.Digest)
		}
	}
	return nil, fmt.Errorf("no image %s in %s", i, dir)
}

// filesLayer holds files, with the directories above them.
func filesLayer(files map[string][]byte, mode int64) layerFunc {
	return func(t *tarWriter) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			t.dirs(path.Dir(name))
			t.file(name, mode, files[name])
		}
	}
}

// libraries finds the absolute paths in what ldd prints.
var libraries = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// hostPrograms reads programs of this machine, and the libraries they load.
// These go where the loader looks for them; /bin is not among that.
func hostPrograms(ctx context.Context, programs map[string]string) (map[string][]byte, error) {
	out := make(map[string][]byte)
	for place, name := range programs {
		file, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		if out[place], err = os.ReadFile(file); err != nil {
			return nil, err
		}
		// ldd fails for a static program, which needs none.
		list, _ := exec.CommandContext(ctx, "ldd", file).Output()
		for _, match := range libraries.FindAllStringSubmatch(string(list), -1) {
			if out[strings.TrimPrefix(match[1], "/")], err = os.ReadFile(match[1]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
