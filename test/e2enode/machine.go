package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// home has on the machine what the tests need.
	home = "/opt/e2e"
	// memory is the machine's, in MiB: beside the node it has an API server and the processes of the tests.
	memory = 6144
	// kernelArgs has the interface be eth0, as tests of /stats/summary want it (kubernetes/kubernetes#28407).
	kernelArgs = "net.ifnames=0"
)

// machine returns the machine of o.dir, which it boots unless it is up, and whether it did so.
func machine(ctx context.Context, o options, out io.Writer) (_ *node.Machine, booted bool, err error) {
	if m, err := node.Open(o.dir); err == nil && !m.Ended() {
		return m, false, nil
	} else if err == nil {
		if err := node.Down(ctx, o.dir); err != nil {
			return nil, false, err
		}
	}
	tests, err := lab.BuildNodeTests(ctx, out)
	if err != nil {
		return nil, false, err
	}
	own, err := os.MkdirTemp("", "kubeloupe-e2e-node-*")
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	copied, err := payload(tests, own)
	if err != nil {
		return nil, false, err
	}
	if copied[strings.TrimPrefix(home, "/")+"/logind"], err = buildLogind(ctx, own); err != nil {
		return nil, false, err
	}
	m, err := node.Start(ctx, node.Config{
		Dir: o.dir, Copy: copied, Agent: node.None, Memory: memory, CPUs: o.cpus, Sockets: o.sockets, KernelArgs: kernelArgs, Detached: true, Log: out,
	})
	if err != nil {
		return nil, false, err
	}
	images, err := imageNames(tests.Layout)
	if err == nil {
		_, _ = fmt.Fprintln(out, "the machine pulls the images of the tests from its registry")
		err = prepare(ctx, m, images)
	}
	if err != nil {
		return nil, false, errors.Join(err, node.Down(context.WithoutCancel(ctx), o.dir))
	}
	return m, true, nil
}

// buildLogind builds the program that is logind on the machine, in dir.
func buildLogind(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "logind")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./test/e2enode/logind")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build test/e2enode/logind: %w: %s", err, said)
	}
	return program, nil
}

// payload is what the machine has beside a node's files: paths of this machine by those there. What is embedded goes to dir.
func payload(tests lab.NodeTests, dir string) (map[string]string, error) {
	opt := strings.TrimPrefix(home, "/") + "/"
	copied := map[string]string{
		opt + "e2e_node.test":    tests.Tests,
		opt + "ginkgo":           tests.Ginkgo,
		opt + "upstream/kubelet": tests.Kubelet,
		opt + "registry":         tests.Registry,
	}
	for to, name := range embedded() {
		text, err := files.ReadFile("files/" + name)
		if err != nil {
			return nil, err
		}
		from := filepath.Join(dir, name)
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(from, text, mode); err != nil {
			return nil, err
		}
		copied[to] = from
	}
	err := filepath.WalkDir(tests.Layout, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(tests.Layout, path)
		copied[opt+"layout/"+name] = path
		return err
	})
	return copied, err
}

// imageNames are the images of a layout, by the names that the tests have for them.
func imageNames(dir string) ([]string, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range manifest.Manifests {
		names = append(names, "registry.k8s.io/"+d.Annotations["org.opencontainers.image.ref.name"])
	}
	return names, nil
}

// prepare completes a machine that has just booted: it gets its registry, the runtime handler of the tests, and the images.
func prepare(ctx context.Context, m *node.Machine, images []string) error {
	handler, err := files.ReadFile("files/handler.toml")
	if err != nil {
		return err
	}
	var script strings.Builder
	fmt.Fprintf(&script, "set -e\nsystemctl mask --now systemd-logind.service dbus-org.freedesktop.login1.service\nsystemctl enable --now logind registry\ncat >> /etc/containerd/config.toml <<'END'\n%sEND\nsystemctl restart containerd\n", handler)
	for _, i := range images {
		fmt.Fprintf(&script, "ctr -n k8s.io images pull --local --hosts-dir /etc/containerd/certs.d %s >/dev/null\n", quote(i))
	}
	_, err = m.Run(ctx, script.String())
	return err
}
