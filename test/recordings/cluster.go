package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// clustered is a cluster whose node is recorded.
type clustered struct {
	*run
	*lab.Cluster
	env    map[string]string
	agent  *lab.Agent
	driver *exec.Cmd // the CSI driver
}

// cluster is a node of a cluster whose API server is away for a while.
func cluster(ctx context.Context, r *run) (err error) {
	up, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(r.dir, "lab"), Log: os.Stderr})
	if err != nil {
		return err
	}
	c := &clustered{run: r, Cluster: up, env: environ(up.Env())}
	defer func() { err = errors.Join(err, up.Down(context.WithoutCancel(ctx))) }()
	if c.agent, err = up.StartAgent(ctx, lab.AgentConfig{Program: r.program, Args: []string{"--record", r.file}}); err != nil {
		return err
	}
	err = c.script(ctx)
	if c.driver != nil {
		err = errors.Join(err, c.driver.Process.Signal(syscall.SIGTERM), c.driver.Wait())
	}
	return errors.Join(err, c.agent.Stop(context.WithoutCancel(ctx)))
}

func (c *clustered) script(ctx context.Context) error {
	if err := c.agent.WaitReady(ctx); err != nil {
		return err
	}
	return play(ctx, []step{
		{0, "the CSI driver", c.startDriver},
		{0, "pods are created", c.apply("cluster")},
		{8 * time.Second, "what a pod waited for is there", c.apply("secret")},
		{6 * time.Second, "the API server goes", c.killServer},
		{10 * time.Second, "the API server is back", c.repair},
		{8 * time.Second, "a pod is deleted", c.kubectl("delete", "pod", "-n", "shop", "web", "--wait=false")},
		{8 * time.Second, "the end", nil},
	})
}

func (c *clustered) kubectl(args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		said, err := c.Kubectl(ctx, args...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}
}

// apply creates what is in a manifest.
func (c *clustered) apply(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		text, err := manifest(name, c.env)
		if err != nil {
			return err
		}
		file := filepath.Join(c.dir, name+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		return c.kubectl("apply", "-f", file)(ctx)
	}
}

// startDriver builds and starts the lab's CSI driver on the node.
func (c *clustered) startDriver(ctx context.Context) error {
	program := filepath.Join(c.dir, "csidriver")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./test/lab/csidriver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, said)
	}
	registry, data := filepath.Join(c.agent.RootDir, "plugins_registry"), filepath.Join(c.dir, "csi")
	for _, d := range []string{registry, data} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	c.driver = exec.Command(program, "-node", lab.NodeName, "-data", data,
		"-endpoint", filepath.Join(c.dir, "csi.sock"), "-registration", filepath.Join(registry, "lab-reg.sock"))
	if err := c.driver.Start(); err != nil {
		c.driver = nil
		return err
	}
	return nil
}

// killServer ends the cluster's API server without a warning.
func (c *clustered) killServer(context.Context) error {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, f := range files {
		data, _ := os.ReadFile(f) // it may have ended
		program, _, _ := strings.Cut(string(data), "\x00")
		if filepath.Base(program) != "kube-apiserver" || !strings.Contains(string(data), c.Dir+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return errors.New("there is no API server of this cluster")
}

func (c *clustered) repair(ctx context.Context) error {
	_, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: c.Dir})
	return err
}
