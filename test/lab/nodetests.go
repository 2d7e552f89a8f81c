package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// nodeTestsRequire and nodeTestsSum are what Kubernetes' tests of a node import beside what the cluster's programs do, for the module in
// test/lab/kubernetes, which stays as it is: all programs are built again when it changes.
const (
	nodeTestsRequire = "\nrequire k8s.io/system-validators v1.12.1 // indirect\n"
	nodeTestsSum     = "k8s.io/system-validators v1.12.1 h1:AY1+COTLJN/Sj0w9QzH1H0yvyF3Kl6CguMnh32WlcUU=\n" +
		"k8s.io/system-validators v1.12.1/go.mod h1:awfSS706v9R12VC7u7K89FKfqVy44G+E0L1A0FX9Wmw=\n"
)

// NodeTests is what Kubernetes' tests of a node need (k8s.io/kubernetes/test/e2e_node).
type NodeTests struct {
	// Tests is e2e_node.test, which has etcd and an API server. Ginkgo runs it, Kubelet is upstream's. All are files.
	Tests, Ginkgo, Kubelet string
	// Registry is the program of the lab's registry. It serves Layout, the OCI layout with the images of the tests.
	Registry, Layout string
}

// BuildNodeTests builds Kubernetes' tests of a node where they are missing, which takes some ten minutes on two processors, and what they need.
func BuildNodeTests(ctx context.Context, log io.Writer) (NodeTests, error) {
	b, err := newBuilder(log)
	if err != nil {
		return NodeTests{}, err
	}
	tools, base, err := b.prepare(ctx)
	if err != nil {
		return NodeTests{}, err
	}
	programs, err := b.kubernetes(ctx)
	if err != nil {
		return NodeTests{}, err
	}
	images, err := b.e2eImages(ctx, base, programs)
	if err != nil {
		return NodeTests{}, err
	}
	tests, err := b.nodeTests(ctx)
	return NodeTests{
		Tests: filepath.Join(tests, "e2e_node.test"), Ginkgo: filepath.Join(programs, "ginkgo"), Kubelet: filepath.Join(programs, "kubelet"),
		Registry: filepath.Join(tools.Registry, "registry"), Layout: images,
	}, err
}

// nodeTests builds e2e_node.test and returns its directory.
func (b builder) nodeTests(ctx context.Context) (string, error) {
	version, err := kubernetesVersion()
	if err != nil {
		return "", err
	}
	return b.ensure("e2e-node", version, "bin", func(tmp string) error {
		return b.inModule(kubernetesSource, func(dir string, env []string) error {
			err := errors.Join(
				appendFile(filepath.Join(dir, "go.mod"), nodeTestsRequire),
				appendFile(filepath.Join(dir, "go.sum"), nodeTestsSum))
			if err != nil {
				return err
			}
			// Upstream vets its code. Without -vet=off, go does so for all packages that the tests import.
			args := append([]string{"test", "-c", "-vet=off"}, versionFlags(KubernetesVersion)...)
			return b.run(ctx, dir, env, "go", append(args, "-o", filepath.Join(tmp, "e2e_node.test"), "k8s.io/kubernetes/test/e2e_node")...)
		})
	})
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
