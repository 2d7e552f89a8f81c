package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

//go:embed pod.yaml
var manifest string

// settles is how long the logs are left alone after a start: a fold waits ten seconds for another container.
const settles = 15 * time.Second

func main() {
	program := flag.String("kubeloupe", "bin/kubeloupe", "the program under test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := compare(ctx, *program)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "looks:", err)
		os.Exit(1)
	}
}

// compare has each agent start the pod, and prints the difference.
func compare(ctx context.Context, program string) (err error) {
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kllooks")
	if err != nil {
		return err
	}
	c, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: os.Stderr})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	file, recording := filepath.Join(dir, "pod.yaml"), filepath.Join(dir, "kubeloupe.klr")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(manifest, "${BUSYBOX}", c.Image(lab.ImageBusybox))), 0o600); err != nil {
		return err
	}
	upstream, err := starts(ctx, c, file, lab.AgentConfig{Kind: lab.Upstream, State: "upstream", Args: []string{"--v=4"}})
	if err != nil {
		return fmt.Errorf("upstream's kubelet: %w", err)
	}
	runtime := filepath.Join(dir, "containerd.log")
	if err := copyFile(c.ContainerdLog, runtime); err != nil {
		return err
	}
	if _, err := starts(ctx, c, file, lab.AgentConfig{Kind: lab.Kubeloupe, Program: program, State: "kubeloupe", Args: []string{"--record", recording}}); err != nil {
		return fmt.Errorf("kubeloupe: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "trace", "--diff", "counts/web", "counts/web", "--from", upstream, "--from", runtime, "--with", recording)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// starts has an agent start the pod twice, in namespaces "warms" and "counts", and returns its log.
func starts(ctx context.Context, c *lab.Cluster, file string, cfg lab.AgentConfig) (log string, err error) {
	cfg.Log = os.Stderr
	a, err := c.StartAgent(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	if err := a.WaitReady(ctx); err != nil {
		return "", err
	}
	for _, ns := range []string{"warms", "counts"} {
		for _, args := range [][]string{
			{"create", "namespace", ns},
			{"create", "-n", ns, "-f", file},
			{"wait", "-n", ns, "--for=condition=Ready", "--timeout=60s", "pod/web"},
		} {
			if said, err := c.Kubectl(ctx, args...); err != nil {
				return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, said)
			}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(settles):
		}
	}
	if said, err := c.Kubectl(ctx, "delete", "namespace", "warms", "counts", "--timeout=60s"); err != nil {
		return "", fmt.Errorf("kubectl delete namespace: %w: %s", err, said)
	}
	return a.LogFile, nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
