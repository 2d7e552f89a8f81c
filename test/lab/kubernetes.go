package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// KubernetesVersion is the version of the cluster's programs and tests.
const KubernetesVersion = "v1.37.1"

// CoreDNSVersion is the version of the cluster's DNS server.
const CoreDNSVersion = "v1.15.0"

// The modules that pin what a cluster is made of; ".txt", because Go embeds
// nothing of a nested module.
//
//go:embed kubernetes/*.txt
var kubernetesSource embed.FS

//go:embed coredns/*.txt
var corednsSource embed.FS

// kubernetesPackages are built in one go. Programs are called like the last
// part of their package's path, but for etcd.
var kubernetesPackages = []string{
	"go.etcd.io/etcd/server/v3",
	"k8s.io/kubernetes/cmd/kube-apiserver",
	"k8s.io/kubernetes/cmd/kube-controller-manager",
	"k8s.io/kubernetes/cmd/kube-scheduler",
	"k8s.io/kubernetes/cmd/kube-proxy",
	"k8s.io/kubernetes/cmd/kubectl",
	"k8s.io/kubernetes/cmd/kubelet",
	"github.com/onsi/ginkgo/v2/ginkgo",
	"k8s.io/kubernetes/test/images/agnhost",
	"k8s.io/kubernetes/test/images/nonewprivs",
	"k8s.io/kubernetes/test/images/regression-issue-74839",
}

// kubernetesFiles are copied beside the programs, for the images of the tests.
var kubernetesFiles = []string{
	"test/images/agnhost/porter/localhost.crt",
	"test/images/agnhost/porter/localhost.key",
	"test/images/kitten/html/kitten.jpg",
	"test/images/kitten/html/data.json",
}

// versionFlags stamp a version, which clients and tests compare.
func versionFlags(version string) []string {
	const component, client = "k8s.io/component-base/version.", "k8s.io/client-go/pkg/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	return []string{"-trimpath", "-ldflags", strings.Join([]string{
		"-s -w",
		"-X " + component + "gitVersion=" + version,
		"-X " + component + "gitMajor=" + major,
		"-X " + component + "gitMinor=" + minor,
		"-X " + component + "gitTreeState=clean",
		"-X " + client + "gitVersion=" + version,
	}, " ")}
}

// kubernetesVersion names the directory of the programs in the cache.
func kubernetesVersion() (string, error) {
	hash, err := hashFS(kubernetesSource)
	return KubernetesVersion + "-" + hash, err
}

// kubernetes builds what is missing of Kubernetes' programs and returns their
// directory.
func (b builder) kubernetes(ctx context.Context) (string, error) {
	version, err := kubernetesVersion()
	if err != nil {
		return "", err
	}
	return b.ensure("kubernetes", version, "bin", func(tmp string) error {
		return b.inModule(kubernetesSource, func(dir string, env []string) error {
			args := append([]string{"build"}, versionFlags(KubernetesVersion)...)
			args = append(args, "-o", tmp+"/")
			if err := b.run(ctx, dir, env, "go", append(args, kubernetesPackages...)...); err != nil {
				return err
			}
			// "go build" leaves the v3 of the path off.
			if err := os.Rename(filepath.Join(tmp, "server"), filepath.Join(tmp, "etcd")); err != nil {
				return err
			}
			return copyModuleFiles(ctx, dir, env, "k8s.io/kubernetes", kubernetesFiles, filepath.Join(tmp, "files"))
		})
	})
}

// ConformanceTests builds Kubernetes' node tests where they are missing, and
// returns the program. It takes as long as all programs of a cluster together.
func ConformanceTests(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	version, err := kubernetesVersion()
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("kubernetes", version, "e2e", func(tmp string) error {
		return b.inModule(kubernetesSource, func(dir string, env []string) error {
			args := append([]string{"test", "-c"}, versionFlags(KubernetesVersion)...)
			return b.run(ctx, dir, env, "go", append(args, "-o", filepath.Join(tmp, "e2e.test"), "k8s.io/kubernetes/test/e2e")...)
		})
	})
	return filepath.Join(dir, "e2e.test"), err
}

func corednsVersion() (string, error) {
	hash, err := hashFS(corednsSource)
	return CoreDNSVersion + "-" + hash, err
}

// coredns builds CoreDNS with the few plugins that a cluster needs: with all of
// them it would take as long as Kubernetes.
func (b builder) coredns(ctx context.Context) (string, error) {
	version, err := corednsVersion()
	if err != nil {
		return "", err
	}
	return b.ensure("coredns", version, "bin", func(tmp string) error {
		return b.inModule(corednsSource, func(dir string, env []string) error {
			return b.run(ctx, dir, env, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(tmp, "coredns"), ".")
		})
	})
}

// inModule lays an embedded module out for a build that has nothing of the
// caller's module and flags.
func (b builder) inModule(source fs.FS, build func(dir string, env []string) error) error {
	dir, err := os.MkdirTemp("", "kubeloupe-build-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	err = fs.WalkDir(source, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(path.Base(p), ".txt")), data, 0o644)
	})
	if err != nil {
		return err
	}
	return build(dir, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH="})
}

func copyModuleFiles(ctx context.Context, dir string, env []string, module string, files []string, to string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	from := strings.TrimSpace(string(out))
	if err != nil || from == "" {
		return errors.Join(fmt.Errorf("find the files of %s", module), err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, path.Base(name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
