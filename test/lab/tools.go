package lab

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Versions of the programs that make a lab.
const (
	ContainerdVersion = "v2.4.2"
	RuncVersion       = "v1.5.2"
	CNIVersion        = "v1.9.1"
)

// Toolchain says where the programs of a lab are.
type Toolchain struct {
	// Containerd is the directory of containerd, its shim and ctr.
	Containerd string
	// Runc is the directory of runc.
	Runc string
	// CNI is the directory of bridge, host-local, loopback and portmap.
	CNI string
	// Registry is the directory of the lab's registry.
	Registry string
}

// goTool is a set of programs from one Go module.
type goTool struct {
	name, module, version string
	// packages are paths within the module.
	packages []string
	flags    []string
	cgo      bool
	// debian lists what the build needs.
	debian []string
}

var (
	containerdTool = goTool{
		name: "containerd", module: "github.com/containerd/containerd/v2", version: ContainerdVersion,
		packages: []string{"cmd/containerd", "cmd/containerd-shim-runc-v2", "cmd/ctr"},
		flags:    []string{"-ldflags=-s -w -X github.com/containerd/containerd/v2/version.Version=" + ContainerdVersion},
	}
	runcTool = goTool{
		name: "runc", module: "github.com/opencontainers/runc", version: RuncVersion,
		packages: []string{""},
		flags:    []string{"-tags=seccomp", "-ldflags=-s -w"},
		cgo:      true,
		debian:   []string{"libseccomp-dev", "pkg-config"},
	}
	cniTool = goTool{
		name: "cni-plugins", module: "github.com/containernetworking/plugins", version: CNIVersion,
		packages: []string{"plugins/main/bridge", "plugins/main/loopback", "plugins/ipam/host-local", "plugins/meta/portmap"},
		flags:    []string{"-ldflags=-s -w -X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=" + CNIVersion},
	}
)

// registrySource is hashed into the registry's version.
//
//go:embed registry/*.go
var registrySource embed.FS

// Cache returns the directory that keeps what the lab builds:
// $KUBELOUPE_CACHE, or kubeloupe in the user's cache directory.
func Cache() (string, error) {
	if dir := os.Getenv("KUBELOUPE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: set KUBELOUPE_CACHE: %w", err)
	}
	return filepath.Join(dir, "kubeloupe"), nil
}

// Tools builds what is missing of the programs that a lab needs, and says
// where they are. The first call takes minutes; one line for each thing built
// goes to log, which may be nil. Concurrent calls, also of other processes,
// build each thing once.
func Tools(ctx context.Context, log io.Writer) (Toolchain, error) {
	b, err := newBuilder(log)
	if err != nil {
		return Toolchain{}, err
	}
	var t Toolchain
	if t.Containerd, err = b.goTool(ctx, containerdTool); err != nil {
		return Toolchain{}, err
	}
	if t.Runc, err = b.goTool(ctx, runcTool); err != nil {
		return Toolchain{}, err
	}
	if t.CNI, err = b.goTool(ctx, cniTool); err != nil {
		return Toolchain{}, err
	}
	if t.Registry, err = b.registry(ctx); err != nil {
		return Toolchain{}, err
	}
	return t, nil
}

// builder fills the cache.
type builder struct {
	cache string
	log   io.Writer
	mu    *sync.Mutex
}

func newBuilder(log io.Writer) (builder, error) {
	cache, err := Cache()
	if log == nil {
		log = io.Discard
	}
	return builder{cache: cache, log: log, mu: new(sync.Mutex)}, err
}

func (b builder) path(elem ...string) string {
	return filepath.Join(append([]string{b.cache}, elem...)...)
}

func (b builder) logf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = fmt.Fprintf(b.log, format+"\n", args...)
}

// ensure returns the directory name/version/leaf of the cache. Where it is
// missing, fill fills a temporary directory that then takes the name in one
// step, so that an aborted build is never taken for a complete one.
func (b builder) ensure(name, version, leaf string, fill func(tmp string) error) (string, error) {
	dir := b.path(name, version, leaf)
	if exists(dir) {
		return dir, nil
	}
	unlock, err := lockFile(b.path(name, version+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(dir) {
		return dir, nil
	}
	b.logf("building %s %s", name, version)
	tmp, err := os.MkdirTemp(b.path(name), "."+version+"-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := fill(tmp); err != nil {
		return "", fmt.Errorf("build %s %s: %w", name, version, err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp, dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (b builder) goTool(ctx context.Context, t goTool) (string, error) {
	return b.ensure(t.name, t.version, "bin", func(tmp string) error {
		if err := b.debian(ctx, t.debian...); err != nil {
			return err
		}
		cgo := "CGO_ENABLED=0"
		if t.cgo {
			cgo = "CGO_ENABLED=1"
		}
		args := append([]string{"install", "-trimpath"}, t.flags...)
		for _, p := range t.packages {
			args = append(args, path.Join(t.module, p)+"@"+t.version)
		}
		// Outside any module, and free of the caller's build flags.
		return b.run(ctx, tmp, []string{"GOBIN=" + tmp, "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=", cgo}, "go", args...)
	})
}

// registry builds the registry from this work tree.
func (b builder) registry(ctx context.Context) (string, error) {
	version, err := hashFS(registrySource)
	if err != nil {
		return "", err
	}
	return b.ensure("registry", version, "bin", func(tmp string) error {
		dir, err := moduleDir(ctx)
		if err != nil {
			return err
		}
		return b.run(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=", "GOARCH="},
			"go", "build", "-trimpath", "-o", tmp+"/", "./test/lab/registry")
	})
}

// moduleDir finds kubeloupe's work tree around the current directory.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeloupe/kubeloupe").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", errors.New("the lab's registry is built once from the work tree: run this inside kubeloupe's work tree")
	}
	return dir, nil
}

// hashFS names the content of files.
func hashFS(files fs.FS) (string, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(p, "_test.go") {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}
