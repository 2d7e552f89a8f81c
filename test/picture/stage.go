package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

//go:embed session.yaml
var sessionPods string

//go:embed stepped.yaml
var steppedPod string

// imageRules make image garbage collection look at something: they are below what any disk has in use.
const imageRules = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
imageGCHighThresholdPercent: 2
imageGCLowThresholdPercent: 1
imageMinimumGCAge: 1s
`

// stage is a cluster with the agent as its node, in a terminal.
type stage struct {
	dir     string
	bin     string // kubeloupe
	cluster *lab.Cluster
	agent   *terminal // nil until it runs, and when it has ended
}

// raise starts a cluster and builds the agent. What it returns is to be closed also after an error.
func raise(ctx context.Context, bin string) (*stage, error) {
	dir, err := os.MkdirTemp("", "klp")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, bin: bin}
	if s.cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: s.in("lab"), Log: os.Stderr}); err != nil {
		return s, err
	}
	if err := s.build(ctx); err != nil {
		return s, err
	}
	if err := os.Mkdir(s.in("conf.d"), 0o700); err != nil {
		return s, err
	}
	return s, os.WriteFile(s.in("conf.d", "images.conf"), []byte(imageRules), 0o600)
}

func (s *stage) build(ctx context.Context) error {
	if s.bin != "" {
		return nil
	}
	s.bin = s.in("kubeloupe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.bin, "./cmd/kubeloupe").CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return nil
}

func (s *stage) in(path ...string) string { return filepath.Join(append([]string{s.dir}, path...)...) }

// run starts the agent in a terminal, with containerd's spans and a recording.
func (s *stage) run(ctx context.Context) (err error) {
	c := s.cluster
	s.agent, err = start(ctx, s.bin, "run",
		"--config", c.KubeletConfig, "--config-dir", s.in("conf.d"), "--root-dir", s.in("root"), "--cert-dir", s.in("pki"),
		"--kubeconfig", s.in("kubeconfig"), "--bootstrap-kubeconfig", c.BootstrapKubeconfig,
		"--hostname-override", lab.NodeName, "--node-ip", c.NodeIP, "--record", s.recording(),
		"--otlp-http", "127.0.0.1:"+strconv.Itoa(c.OTLPPort), "--cni-bin-dir", c.CNIBinDir)
	if err != nil {
		return err
	}
	_, err = s.agent.await(ctx, "0 total", "image GC")
	return err
}

func (s *stage) recording() string { return s.in("session.klr") }

// apply makes the objects of a manifest.
func (s *stage) apply(ctx context.Context, manifest string) error {
	text := strings.NewReplacer("HTTP", s.image("http:1"), "SIXTY", s.image("60m:1"), "BUSYBOX", s.image("busybox:1"),
		"NONE", s.image("search:7")).Replace(manifest)
	file := s.in("pods.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := s.cluster.Kubectl(ctx, "apply", "-f", file)
	return err
}

func (s *stage) image(name string) string { return s.cluster.Registry + "/kubeloupe/" + name }

// kubeloupe runs a command against the recording or the running agent and returns what it prints.
func (s *stage) kubeloupe(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Env = append(os.Environ(), "KUBELOUPE_SOCKET="+s.socket())
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubeloupe %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func (s *stage) socket() string { return s.in("root", "kubeloupe.sock") }

// quit ends the agent as a person does; its pods continue.
func (s *stage) quit(ctx context.Context) error {
	t := s.agent
	s.agent = nil
	if t == nil {
		return nil
	}
	return errors.Join(t.press(ctx, "q"), t.press(ctx, "y"), t.close())
}

// close ends the agent and takes the cluster down, with all pods.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := s.quit(ctx)
	if e := lab.Down(ctx, s.in("lab")); e != nil {
		return errors.Join(err, e) // what is left is needed to try again
	}
	return errors.Join(err, lab.UnmountBelow(s.dir), os.RemoveAll(s.dir))
}
